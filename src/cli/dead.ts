// `holdfast dead`: what gave up and needs a person, with the reason.

import type { RunState } from "../kernel/run-state.js";
import type { RunRecord } from "../store/contract/runs.js";
import type { Store } from "../store/contract/store.js";
import type { Call, Command, Report } from "./command.js";
import { LIMIT_OPTION, limitOption } from "./options.js";
import { STATE_COLOURS } from "./paint.js";
import { reasonLine } from "./reason-text.js";
import { runJson } from "./run-json.js";
import { shortIds } from "./short-id.js";
import { tableLines } from "./table.js";
import { timeAgo } from "./time-ago.js";

const STATES = ["dead", "failed", "quarantined"] as const satisfies readonly RunState[];

export const dead: Command = {
  name: "dead",
  takes: [],
  summary: "what is dead, failed or quarantined, with the reason",
  details: "dead: crashed too often. failed: threw. quarantined: its code no longer fits its journal.",
  options: { count: { type: "boolean", says: "only how many" }, limit: LIMIT_OPTION },
  run: (call) => (call.values["count"] ? countDead(call) : listDead(call)),
};

async function countDead({ store, env }: Call): Promise<Report> {
  const counts = await (await store()).runs.count({ env, states: STATES });
  const each = Object.fromEntries(STATES.map((state) => [state, counts[state] ?? 0]));
  const total = Object.values(each).reduce((sum, n) => sum + n, 0);
  const parts = STATES.map((state) => `${each[state]} ${state}`).join(", ");
  return { text: `${total} (${parts})\n`, json: { total, ...each } };
}

async function listDead(call: Call): Promise<Report> {
  const limit = limitOption(call.values);
  const store = await call.store();
  const { runs, next } = await store.runs.list({ env: call.env, states: STATES }, { limit });
  const reasons = await Promise.all(runs.map((run) => reasonOf(store, run)));
  const json = { runs: runs.map((run, i) => ({ ...runJson(run), reason: reasons[i] })), more: next !== null };
  if (runs.length === 0) return { text: `Nothing is dead, failed or quarantined in env ${call.env}.\n`, json };

  const now = call.world.wallNow();
  const short = shortIds(runs.map(({ id }) => id));
  const columns = [
    { title: "RUN" },
    { title: "STATE" },
    { title: "PROGRAM", flexible: true },
    { title: "ENDED" },
    { title: "REASON", flexible: true },
  ];
  const rows = runs.map((run, i) => [
    short(run.id),
    { text: run.state, colour: STATE_COLOURS[run.state] },
    run.group.program,
    run.endedAt === null ? "" : timeAgo(run.endedAt, now),
    reasons[i]!,
  ]);
  const lines = tableLines({ columns, rows }, call.width, call.paint);
  if (next !== null) lines.push(call.paint(`The newest ${limit}; --limit shows more.`, "dim"));
  return { text: `${lines.join("\n")}\n`, json };
}

/** The last entry of its journal says why it ended. */
async function reasonOf(store: Store, { id, seq }: RunRecord): Promise<string> {
  const page = await store.journal.read(id, { after: seq - 1, limit: 1 });
  return reasonLine(page?.entries[0]?.payload ?? null);
}
