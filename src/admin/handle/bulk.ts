// Handlers of bulk actions: the digest of a preview binds the steps to what was shown.

import { createHash } from "node:crypto";
import { canonicalText } from "../../kernel/codec/canonical.js";
import { RETRYABLE_STATES } from "../../kernel/run/run-state.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import { ApiProblem } from "../problem.js";
import type { BULK_ACTIONS, BULK_ROUTES } from "../routes/bulk.js";
import { runRows } from "../view/run-rows.js";
import { filterOf } from "./runs.js";

const MOST_COUNTED = 10_000;
const STEP = 100;
const EXAMPLES = 5;

type Action = (typeof BULK_ACTIONS)[number];

const LIVE = ["blocked", "held", "waiting", "running", "parked", "paused", "quarantined"] as const;
const STATES = {
  cancel: LIVE,
  pause: LIVE.filter((state) => state !== "paused"),
  resume: ["paused"] as const,
  retry: RETRYABLE_STATES,
  "retry from start": RETRYABLE_STATES,
} as const;

/** Runs in a state that the action cannot change are not counted. */
function narrowed(env: string, action: Action, filter: Parameters<typeof filterOf>[1]) {
  const may: readonly string[] = STATES[action];
  const asked = filter.state?.filter((state) => may.includes(state));
  const states = (asked ?? [...may]) as NonNullable<typeof filter.state>;
  return { ...filterOf(env, filter), states };
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
    const wanted = narrowed(inEnv.env, action, filter);
    const [count, { runs }] = await Promise.all([
      call.store.views.count(wanted, MOST_COUNTED),
      call.store.runs.list(wanted, { limit: EXAMPLES }),
    ]);
    return { count, examples: await runRows(call.store, runs), digest: digestOf(inEnv, action, filter) };
  },
  "bulk.step": async (call, { action, filter, digest, before, note }) => {
    const inEnv = call.in(filter.env ?? call.env);
    if (digest !== digestOf(inEnv, action, filter)) {
      throw new ApiProblem(409, "PREVIEW_STALE", "The request is not the one that was previewed. Preview it again.");
    }
    const page = { limit: STEP, ...(before !== undefined && { before }) };
    const { runs, next } = await call.store.runs.list(narrowed(inEnv.env, action, filter), page);
    const answers: { id: string; outcome: string }[] = [];
    for (const { id, state } of runs) {
      const change = { action: "bulk.step" as const, object: id, before: { state }, after: { action }, note };
      answers.push({ id, outcome: await inEnv.change(change, () => act(inEnv, action, id)) });
    }
    return { answers, next };
  },
};
