// Handlers of approvals and dead letters.

import { approvalOf } from "../../client/approvals.js";
import type { Payload } from "../../kernel/codec/payload.js";
import type { StoredError } from "../../kernel/codec/recorded-error.js";
import { RETRYABLE_STATES, type RunState } from "../../kernel/run/run-state.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { APPROVAL_ROUTES } from "../routes/approvals.js";
import { iso } from "../view/iso.js";
import { redacted } from "../view/redact.js";

type DeadState = (typeof RETRYABLE_STATES)[number];

interface DeadFilter {
  readonly program?: string | undefined;
  readonly queue?: string | undefined;
  readonly state?: readonly DeadState[] | undefined;
}

const deadFilter = (env: string, { program, queue, state }: DeadFilter) => ({
  env,
  states: (state ?? RETRYABLE_STATES) as readonly RunState[],
  ...(program !== undefined && { program }),
  ...(queue !== undefined && { queue }),
});

/** As many letters are grouped: the newest. */
const MOST_GROUPED = 1_000;
const EXAMPLES = 5;

interface Reason {
  readonly code: string | null;
  readonly message: string | null;
}

/** Quarantined and failed runs have their reason in the last entry, which `peek` reads for many runs at once only when ended. */
async function reasonsOf(call: Call, runs: readonly RunRecord[]): Promise<Reason[]> {
  const peeked = await call.store.journal.peek(runs.map(({ id }) => ({ runId: id, what: "end" as const })));
  return Promise.all(
    runs.map(async ({ id, seq, state }, i) => {
      const stored = peeked[i]?.entry;
      const last = async () => (await call.store.journal.read(id, { after: seq - 1, limit: 1 }))?.entries[0];
      const entry = stored ?? (state === "quarantined" ? await last() : undefined);
      return reasonOf(call, entry?.payload ?? null);
    }),
  );
}

function reasonOf(call: Call, payload: Payload | null): Reason {
  try {
    const stored = payload && (call.admin.codecs.decode(payload) as Partial<StoredError> | null);
    const message = call.may("read") && typeof stored?.message === "string" ? stored.message : null;
    const code = stored?.code ?? stored?.name;
    return { code: code === undefined ? null : String(code), message };
  } catch {
    return { code: null, message: null };
  }
}

function letterOf(run: RunRecord, reason: Reason) {
  const { id, group, state, endedAt } = run;
  return {
    runId: id,
    program: group.program,
    queue: group.queue,
    state: state as DeadState,
    endedAt: iso(endedAt),
    ...reason,
  };
}

export const approvalHandlers: Handlers<RouteName & keyof typeof APPROVAL_ROUTES> = {
  "approvals.list": async (call, { to, before, limit }) => {
    const request = { env: call.env, limit, ...(before !== undefined && { after: before }) };
    const { rows, next } = await call.store.views.questions(request);
    const shows = call.may("read") || call.may("approve");
    const shown = rows.map((question) => {
      const { ask, plan, choices, since, until, ...facts } = approvalOf(call.admin.codecs, question);
      const hidden = redacted(plan, call.admin.redact);
      return {
        ...facts,
        askedAt: iso(since),
        deadline: iso(until),
        choices: [...choices],
        ask: shows ? ask : null,
        ...(shows && hidden !== undefined && { plan: hidden }),
      };
    });
    return { rows: shown.filter((row) => to === undefined || row.to === to), next };
  },
  "dead.list": async (call, { code, before, limit, ...filter }) => {
    const page = { limit, ...(before !== undefined && { before }) };
    const { runs, next } = await call.store.runs.list(deadFilter(call.env, filter), page);
    const reasons = await reasonsOf(call, runs);
    const rows = runs.map((run, i) => letterOf(run, reasons[i]!));
    return { rows: rows.filter((row) => code === undefined || row.code === code), next };
  },
  "dead.groups": async (call, filter) => {
    const { runs, next } = await call.store.runs.list(deadFilter(call.env, filter), { limit: MOST_GROUPED });
    const reasons = await reasonsOf(call, runs);
    const groups = new Map<string, ReturnType<typeof letterOf>[]>();
    for (const [i, run] of runs.entries()) {
      const letter = letterOf(run, reasons[i]!);
      const key = JSON.stringify([letter.program, letter.state, letter.code]);
      groups.set(key, [...(groups.get(key) ?? []), letter]);
    }
    return {
      groups: [...groups.values()].map((letters) => {
        const { program, state, code } = letters[0]!;
        const times = letters.flatMap(({ endedAt }) => endedAt ?? []).sort();
        const examples = letters.slice(0, EXAMPLES).map(({ runId }) => runId);
        return {
          program,
          state,
          code,
          n: letters.length,
          newest: times.at(-1) ?? null,
          oldest: times[0] ?? null,
          examples,
        };
      }),
      looked: { n: runs.length, atLeast: next !== null },
    };
  },
  "dead.retry": async (call, { ids, from, note }) => {
    const { runs } = await call.store.views.runs(ids);
    const mine = runs.flatMap((run) => (run?.group.env === call.env ? [run.id] : []));
    const options = { by: call.by, callId: call.token(), fromStart: from === "start" };
    const change = { action: "dead.retry" as const, object: `${mine.length} runs`, after: { ids: mine, from }, note };
    const answers = await call.change(change, () => call.store.runs.retry(mine, options));
    const byId = new Map(mine.map((id, i) => [id, answers[i]!.outcome]));
    return { answers: ids.map((id) => ({ id, outcome: byId.get(id) ?? "unknown" })) };
  },
};
