// `holdfast prune` and `holdfast archive`: delete or archive ended runs by age, state and program, or archive one run.

import { type EndedFilter, type RetentionVerbs, retentionIn } from "../../client/retention.js";
import type { Duration } from "../../kernel/duration.js";
import { toMs } from "../../kernel/duration.js";
import { ENDED_STATES, type EndedState, type RunState } from "../../kernel/run/run-state.js";
import type { Call, Command, CommandOption, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { findRun } from "../find-run.js";
import { statesOption, textOption } from "../options.js";

const DEFAULT_AGE: Duration = "30d";
/** A line of progress at most this often. */
const PROGRESS_MS = 1_000;

const FILTER: Readonly<Record<string, CommandOption>> = {
  "older-than": { type: "string", value: "AGE", description: `ended at least this long ago; default: ${DEFAULT_AGE}` },
  state: {
    type: "string",
    value: "S",
    description: `only these states, separated by commas: ${ENDED_STATES.join(", ")}`,
  },
  program: { type: "string", value: "NAME", description: "only runs of this program" },
  queue: { type: "string", value: "NAME", description: "only runs of this queue" },
};

export const prune: Command = {
  name: "prune",
  takes: [],
  summary: "delete runs that ended some time ago, with their journals",
  details:
    "Nodes do this by themselves, see `retention` of the store. Runs are deleted in batches; ctrl-c loses nothing.",
  options: {
    ...FILTER,
    "dry-run": { type: "boolean", description: "only count the runs that would be deleted" },
  },
  run: async (call) => {
    const which = filterOf(call);
    const retention = retentionIn(await call.store(), call.env);
    if (call.values["dry-run"]) return counted(call, await retention.count(which));
    const pruned = await retention.prune(which, { onProgress: progressOf(call, "deleted") });
    return { text: `${runsText(pruned)} deleted.\n`, json: { pruned } };
  },
};

export const archive: Command = {
  name: "archive",
  takes: ["[RUN]"],
  summary: "archive one run, or those that ended some time ago: their keys are free again",
  details: "An archived run can still be shown, but is in no list. Without RUN, one of the filters is needed.",
  options: FILTER,
  run: async (call) => {
    const retention = retentionIn(await call.store(), call.env);
    return call.arguments[0] === undefined ? archiveMany(call, retention) : archiveOne(call, retention);
  },
};

async function archiveOne(call: Call, retention: RetentionVerbs): Promise<Report> {
  if (Object.keys(FILTER).some((name) => call.values[name] !== undefined))
    throw new CommandMisused("give either a run or filters");
  const { id, state, archivedAt } = await findRun(call, call.arguments[0]!);
  const archived = await retention.archive(id);
  const already =
    archivedAt === null ? `is ${state} and cannot be archived; only ended runs can` : "is archived already";
  return { text: `Run ${id} ${archived === 1 ? "is archived." : `${already}.`}\n`, json: { archived, runId: id } };
}

async function archiveMany(call: Call, retention: RetentionVerbs): Promise<Report> {
  if (!Object.keys(FILTER).some((name) => call.values[name] !== undefined))
    throw new CommandMisused("name a run, or filter by --older-than, --state, --program or --queue");
  const archived = await retention.archive(filterOf(call), { onProgress: progressOf(call, "archived") });
  return { text: `${runsText(archived)} archived.\n`, json: { archived } };
}

function counted({ env }: Call, counts: Readonly<Partial<Record<EndedState, number>>>): Report {
  const states = ENDED_STATES.filter((state) => counts[state] !== undefined);
  const total = states.reduce((sum, state) => sum + counts[state]!, 0);
  const parts = states.map((state) => `${counts[state]} ${state}`).join(", ");
  const text = `${runsText(total)} of env ${env} would be deleted${parts ? ` (${parts})` : ""}.\n`;
  return { text, json: { dryRun: true, total, ...counts } };
}

function filterOf({ values }: Call): EndedFilter {
  const olderThan = (textOption(values, "older-than") ?? DEFAULT_AGE) as Duration;
  toMs(olderThan, "--older-than");
  const states = statesOption(values);
  const other = states?.find((state) => !(ENDED_STATES as readonly RunState[]).includes(state));
  if (other) throw new CommandMisused(`--state ${other} must be one of ${ENDED_STATES.join(", ")}`);
  const [program, queue] = [textOption(values, "program"), textOption(values, "queue")];
  return {
    olderThan,
    ...(states && { state: states as readonly EndedState[] }),
    ...(program !== undefined && { program }),
    ...(queue !== undefined && { queue }),
  };
}

function progressOf({ world, progress }: Call, done: string): (runs: number) => void {
  let toldAt = world.monotonicNow();
  return (runs) => {
    if (world.monotonicNow() - toldAt < PROGRESS_MS) return;
    toldAt = world.monotonicNow();
    progress(`${runsText(runs)} ${done} so far`);
  };
}

function runsText(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}
