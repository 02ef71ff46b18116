// Handlers of bulk actions: the digest of a preview binds the steps to what was shown.

import { createHash } from "node:crypto";
import { canonicalText } from "../../kernel/codec/canonical.js";
import { RETRYABLE_STATES } from "../../kernel/run/run-state.js";
import type { RunFilter, RunPage } from "../../store/contract/run/records.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import { DEAD_STATES } from "../../store/contract/view/dead-letters.js";
import type { Counted } from "../../store/contract/view/views.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import { ApiProblem } from "../problem.js";
import type { BULK_ACTIONS, BULK_ROUTES } from "../routes/bulk.js";
import { runRows } from "../view/run-rows.js";
import { filterOf } from "./runs.js";

const MOST_COUNTED = 10_000;
const STEP = 100;
const EXAMPLES = 5;
/** Dead letters that are read at once to count them by code. */
const LETTERS = 1_000;

type Action = (typeof BULK_ACTIONS)[number];

const LIVE = ["blocked", "held", "waiting", "running", "parked", "paused", "quarantined"] as const;
const STATES = {
  cancel: LIVE,
  pause: LIVE.filter((state) => state !== "paused"),
  resume: ["paused"] as const,
  retry: RETRYABLE_STATES,
  "retry from start": RETRYABLE_STATES,
} as const;

type Asked = Parameters<typeof filterOf>[1] & { readonly code?: string | undefined };

/** Runs in a state that the action cannot change are not counted. */
async function narrowed(call: Call, action: Action, filter: Asked): Promise<RunFilter> {
  const may: readonly string[] = STATES[action];
  const asked = filter.state?.filter((state) => may.includes(state));
  return { ...(await filterOf(call, filter)), states: (asked ?? [...may]) as NonNullable<RunFilter["states"]> };
}

type Page = { readonly limit: number; readonly before?: string };

/** With a code: dead letters, whose errors are read; the fields of other filters are compared here. */
async function runsOf(call: Call, action: Action, filter: Asked, page: Page): Promise<RunPage> {
  const wanted = await narrowed(call, action, filter);
  if (filter.code === undefined) return call.store.runs.list(wanted, page);
  const { env, program, queue, states = [] } = wanted;
  const { rows, next } = await call.store.views.deadLetters({
    env,
    states: DEAD_STATES.filter((state) => states.includes(state)),
    limit: page.limit,
    ...(program !== undefined && { program }),
    ...(queue !== undefined && { queue }),
    ...(page.before !== undefined && { after: page.before }),
    ...(filter.code !== "" && { code: filter.code }),
  });
  const letters = rows.filter(({ code }) => (code ?? "") === filter.code);
  const { runs } = await call.store.views.runs(letters.map(({ runId }) => runId));
  return { runs: runs.filter((run) => run !== null && fits(run, wanted)) as RunRecord[], next };
}

function fits(run: RunRecord, { from, to, stack, owner, parent }: RunFilter): boolean {
  const at = run.createdAt;
  return (
    (from === undefined || at >= from) &&
    (to === undefined || at < to) &&
    (stack === undefined || run.group.stack === stack) &&
    (owner === undefined || run.owner === owner) &&
    (parent === undefined || run.parentId === parent)
  );
}

async function counted(call: Call, action: Action, filter: Asked): Promise<Counted> {
  if (filter.code === undefined) return call.store.views.count(await narrowed(call, action, filter), MOST_COUNTED);
  let n = 0;
  let before: string | null = null;
  do {
    const page: RunPage = await runsOf(call, action, filter, { limit: LETTERS, ...(before !== null && { before }) });
    n += page.runs.length;
    before = page.next;
  } while (before !== null && n < MOST_COUNTED);
  return { n, atLeast: before !== null };
}

function digestOf(call: Call, action: Action, filter: object): string {
  const text = canonicalText({ env: call.env, by: call.by, action, filter: JSON.parse(JSON.stringify(filter)) });
  return createHash("sha256").update(text).digest("hex");
}

async function act(call: Call, action: Action, id: string): Promise<string> {
  const { runs } = call.store;
  if (action === "cancel") return (await runs.cancel(id, { by: call.by })).outcome;
  if (action === "pause") return (await runs.pause(id, { by: call.by })).outcome;
  if (action === "resume") return (await runs.resume(id, { by: call.by })).outcome;
  const options = { by: call.by, callId: call.admin.world.token(), fromStart: action === "retry from start" };
  return (await runs.retry([id], options))[0]!.outcome;
}

export const bulkHandlers: Handlers<RouteName & keyof typeof BULK_ROUTES> = {
  "bulk.preview": async (call, { action, filter }) => {
    const inEnv = call.in(filter.env ?? call.env);
    const [count, { runs }] = await Promise.all([
      counted(inEnv, action, filter),
      runsOf(inEnv, action, filter, { limit: EXAMPLES }),
    ]);
    return { count, examples: await runRows(call.store, runs), digest: digestOf(inEnv, action, filter) };
  },
  "bulk.step": async (call, { action, filter, digest, before, note }) => {
    const inEnv = call.in(filter.env ?? call.env);
    if (digest !== digestOf(inEnv, action, filter)) {
      throw new ApiProblem(409, "PREVIEW_STALE", "The request is not the one that was previewed. Preview it again.");
    }
    const page = { limit: STEP, ...(before !== undefined && { before }) };
    const { runs, next } = await runsOf(inEnv, action, filter, page);
    const answers: { id: string; outcome: string }[] = [];
    for (const { id, state } of runs) {
      const change = { action: "bulk.step" as const, object: id, before: { state }, after: { action }, note };
      answers.push({ id, outcome: await inEnv.change(change, () => act(inEnv, action, id)) });
    }
    return { answers, next };
  },
};
