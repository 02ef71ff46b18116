// `holdfast dead`: lists dead, failed and quarantined runs with their reasons, and retries them.

import { DeadLetters } from "../../client/dead-letters.js";
import { codecs } from "../../kernel/codec/codecs.js";
import type { RunState } from "../../kernel/run/run-state.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import {
  LIMIT_OPTION,
  limitOf,
  moreText,
  PROGRAM_OPTION,
  statesOption,
  verbOf,
  WATCH_OPTION,
  YES_OPTION,
} from "../options.js";
import { runJson } from "../run-json.js";
import { runsText } from "../text/count.js";
import { STATE_COLOURS } from "../text/paint.js";
import { reasonLine } from "../text/reason-text.js";
import { shortIds } from "../text/short-id.js";
import { listText } from "../text/table.js";
import { timeAgo } from "../text/time-ago.js";
import { FROM_START_OPTION } from "./retry.js";

const STATES = ["dead", "failed", "quarantined"] as const satisfies readonly RunState[];

const OPTIONS = {
  count: { type: "boolean", description: "only their number" },
  program: PROGRAM_OPTION,
  state: statesOption(STATES),
  "from-start": FROM_START_OPTION,
  limit: LIMIT_OPTION,
  watch: WATCH_OPTION,
  yes: YES_OPTION,
} as const satisfies Options;

export const dead = defineCommand({
  name: "dead",
  takes: ["[retry]"],
  summary: "list dead, failed and quarantined runs with the reason; `dead retry` retries them",
  details:
    "dead: crashed too often. failed: threw. quarantined: no live node has code that fits its journal, or the journal is too long.\n" +
    "`dead retry` shows their number, asks, and retries all of them, or those selected by --program and --state.",
  options: OPTIONS,
  run: (call) => {
    if (verbOf(call, "dead", ["retry"])) return retry(call);
    return call.values.count ? countDead(call) : listDead(call);
  },
});

function filterOf({ values, env }: Call<typeof OPTIONS>) {
  const { state: states = STATES, program } = values;
  return { env, states, ...(program !== undefined && { program }) };
}

async function retry(call: Call<typeof OPTIONS>): Promise<Report> {
  const { values, world, actor: by } = call;
  const store = await call.store();
  const filter = filterOf(call);
  const letters = new DeadLetters({ store, codecs: codecs(), env: call.env, world });
  const total = await letters.count(filter);
  if (total > 0) await call.confirm(`Retry ${runsText(total)} of env ${call.env}?`);
  const progress = call.progress("runs retried");
  const from = values["from-start"] ? "start" : "last";
  const onProgress = (done: number) => progress.at(done, total);
  const opened = await letters.retryAll(filter, { by, from, onProgress }).finally(progress.end);
  return {
    text: `${runsText(opened)} ${opened === 1 ? "is" : "are"} queued to resume.\n`,
    json: { retried: opened },
  };
}

async function countDead(call: Call<typeof OPTIONS>): Promise<Report> {
  const counts = await (await call.store()).runs.count(filterOf(call));
  const each = Object.fromEntries(STATES.map((state) => [state, counts[state] ?? 0]));
  const total = Object.values(each).reduce((sum, n) => sum + n, 0);
  const parts = STATES.map((state) => `${each[state]} ${state}`).join(", ");
  return { text: `${total} (${parts})\n`, json: { total, ...each } };
}

async function listDead(call: Call<typeof OPTIONS>): Promise<Report> {
  const limit = limitOf(call.values);
  const store = await call.store();
  const { runs, next } = await store.runs.list(filterOf(call), { limit });
  const reasons = await Promise.all(runs.map((run) => reasonOf(store, run)));
  const json = { runs: runs.map((run, i) => ({ ...runJson(run), reason: reasons[i] })), more: next !== null };
  if (runs.length === 0) return { text: `No dead, failed or quarantined runs in env ${call.env}.\n`, json };

  const now = call.world.wallNow();
  const short = shortIds(runs.map(({ id }) => id));
  const records = runs.map((run, i) => ({
    RUN: short(run.id),
    STATE: { text: run.state, colour: STATE_COLOURS[run.state] },
    PROGRAM: run.group.program,
    ENDED: run.endedAt === null ? "" : timeAgo(run.endedAt, now),
    REASON: reasons[i]!,
  }));
  return { text: listText(records, ["PROGRAM", "REASON"], call) + moreText(next, limit, call.paint), json };
}

/** The last entry of the run's journal holds the reason. */
async function reasonOf(store: Store, { id, seq }: RunRecord): Promise<string> {
  const page = await store.journal.read(id, { after: seq - 1, limit: 1 });
  return reasonLine(page?.entries[0]?.payload ?? null);
}
