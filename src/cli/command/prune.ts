// `holdfast prune` and `holdfast archive`: delete or archive ended runs by age, state and program, or archive one run.

import { type EndedFilter, type RetentionVerbs, retentionIn } from "../../client/retention.js";
import type { Duration } from "../../kernel/duration.js";
import { toMs } from "../../kernel/duration.js";
import { ENDED_STATES, type EndedState } from "../../kernel/run/run-state.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { findRun } from "../find-run.js";
import { PROGRAM_OPTION, statesOption, YES_OPTION } from "../options.js";
import { runsText } from "../text/count.js";

const DEFAULT_AGE: Duration = "30d";

const FILTER = {
  "older-than": {
    type: "string",
    value: "AGE",
    description: `ended at least this long ago; default: ${DEFAULT_AGE}`,
    parse: (text: string): Duration => {
      toMs(text as Duration, "--older-than");
      return text as Duration;
    },
  },
  state: statesOption(ENDED_STATES),
  program: PROGRAM_OPTION,
  queue: { type: "string", value: "NAME", description: "only runs of this queue" },
} as const satisfies Options;

const PRUNE_OPTIONS = {
  ...FILTER,
  "dry-run": { type: "boolean", description: "only count the runs that would be deleted" },
  yes: YES_OPTION,
} as const satisfies Options;

const ARCHIVE_OPTIONS = { ...FILTER, yes: YES_OPTION } as const satisfies Options;

type Filtered = Pick<Call<typeof FILTER>, "values">;

export const prune = defineCommand({
  name: "prune",
  takes: [],
  summary: "delete runs that ended some time ago, with their journals",
  details:
    "Shows their number and asks first. Nodes delete old runs by themselves, see `retention` of the store. Runs are deleted in " +
    "batches; ctrl-c loses nothing.",
  options: PRUNE_OPTIONS,
  run: async (call) => {
    const which = filterOf(call);
    const retention = retentionIn(await call.store(), call.env);
    const { counts, total, text } = await counted(retention, which);
    if (call.values["dry-run"]) {
      const would = `${runsText(total)} of env ${call.env} would be deleted${text}.\n`;
      return { text: would, json: { dryRun: true, total, ...counts } };
    }
    if (total > 0) await call.confirm(`Delete ${runsText(total)} of env ${call.env}${text}, with their journals?`);
    const progress = call.progress("runs deleted");
    const onProgress = (runs: number) => progress.at(runs, total);
    const pruned = await retention.prune(which, { onProgress }).finally(progress.end);
    return { text: `${runsText(pruned)} deleted.\n`, json: { pruned } };
  },
});

export const archive = defineCommand({
  name: "archive",
  takes: ["[RUN]"],
  summary: "archive one run, or those that ended some time ago: their keys are free again",
  details:
    "An archived run can still be shown, but is in no list. Without RUN, one of the filters is needed: the number is shown, and " +
    "you are asked first.",
  options: ARCHIVE_OPTIONS,
  run: async (call) => {
    const hasFilter = Object.keys(FILTER).some((name) => call.values[name as keyof typeof FILTER] !== undefined);
    if (hasFilter === (call.arguments[0] !== undefined)) {
      throw new CommandMisused(
        hasFilter
          ? "give either a run or filters"
          : "name a run, or filter by --older-than, --state, --program or --queue",
      );
    }
    const retention = retentionIn(await call.store(), call.env);
    return hasFilter ? archiveMany(call, retention) : archiveOne(call, retention);
  },
});

async function archiveOne(call: Call, retention: RetentionVerbs): Promise<Report> {
  const { id, state, archivedAt } = await findRun(call, call.arguments[0]!);
  const archived = await retention.archive(id);
  const already =
    archivedAt === null ? `is ${state} and cannot be archived; only ended runs can` : "is archived already";
  return { text: `Run ${id} ${archived === 1 ? "is archived." : `${already}.`}\n`, json: { archived, runId: id } };
}

async function archiveMany(call: Call<typeof ARCHIVE_OPTIONS>, retention: RetentionVerbs): Promise<Report> {
  const which = filterOf(call);
  // Archived ones are counted, too: they can be deleted, but not archived again.
  const { total, text } = await counted(retention, which);
  if (total > 0) await call.confirm(`Archive up to ${runsText(total)} of env ${call.env}${text}?`);
  const progress = call.progress("runs archived");
  const onProgress = (runs: number) => progress.at(runs, total);
  const archived = await retention.archive(which, { onProgress }).finally(progress.end);
  return { text: `${runsText(archived)} archived.\n`, json: { archived } };
}

async function counted(retention: RetentionVerbs, which: EndedFilter) {
  const counts: Readonly<Partial<Record<EndedState, number>>> = await retention.count(which);
  const states = ENDED_STATES.filter((state) => counts[state] !== undefined);
  const total = states.reduce((sum, state) => sum + counts[state]!, 0);
  const parts = states.map((state) => `${counts[state]} ${state}`).join(", ");
  return { counts, total, text: parts ? ` (${parts})` : "" };
}

function filterOf({ values }: Filtered): EndedFilter {
  const { "older-than": olderThan = DEFAULT_AGE, state, program, queue } = values;
  return {
    olderThan,
    ...(state && { state }),
    ...(program !== undefined && { program }),
    ...(queue !== undefined && { queue }),
  };
}
