// `holdfast runs`: the newest runs and their situation.

import { isEnded } from "../../kernel/run/run-state.js";
import type { RunFilter, RunRecord } from "../../store/contract/run/runs.js";
import type { Call, Command, Report } from "../command.js";
import { LIMIT_OPTION, limitOption, moreText, statesOption, textOption, WATCH_OPTION } from "../options.js";
import { runJson } from "../run-json.js";
import { needsNodes, type Surroundings, situation, surroundings } from "../run-situation.js";
import { STATE_COLOURS } from "../text/paint.js";
import { shortIds } from "../text/short-id.js";
import { listText } from "../text/table.js";
import { timeAgo } from "../text/time-ago.js";

export const runs: Command = {
  name: "runs",
  takes: [],
  summary: "the newest runs and what they are doing",
  details:
    "Archived runs are omitted. Ids are shortened as far as they stay unique; every command accepts the short form.",
  options: {
    state: { type: "string", value: "S", description: "only in this state, or in several (dead,failed)" },
    program: { type: "string", value: "P", description: "only of this program" },
    queue: { type: "string", value: "Q", description: "only of this queue" },
    limit: LIMIT_OPTION,
    watch: WATCH_OPTION,
  },
  run: listRuns,
};

async function listRuns(call: Call): Promise<Report> {
  const limit = limitOption(call.values);
  const filter = filterOf(call);
  const store = await call.store();
  const { runs, next } = await store.runs.list(filter, { limit });
  const around = surroundings(runs.some(needsNodes) ? await store.nodes.list({ env: call.env }) : []);
  const json = {
    runs: runs.map((run) => ({ ...runJson(run), noCapableNode: around.lacksNode(run) })),
    more: next !== null,
  };
  if (runs.length === 0) return { text: `${nothing(call)}\n`, json };
  const list = listText(recordsOf(runs, around, call), ["PROGRAM", "QUEUE", "NOW"], call);
  return { text: list + moreText(next, limit, call.paint), json };
}

function recordsOf(runs: readonly RunRecord[], around: Surroundings, { world }: Call) {
  const now = world.wallNow();
  const short = shortIds(runs.map(({ id }) => id));
  // A queue usually has its program's name: show it only if it differs.
  const ownQueues = runs.every(({ group }) => group.queue === group.program);
  return runs.map((run) => ({
    RUN: short(run.id),
    STATE: { text: run.state, colour: STATE_COLOURS[run.state] },
    PROGRAM: run.group.program,
    QUEUE: ownQueues ? "" : run.group.queue,
    CREATED: timeAgo(run.createdAt, now),
    NOW: { text: situation(run, around, now), colour: isEnded(run.state) ? ("dim" as const) : undefined },
  }));
}

function filterOf({ env, values }: Call): RunFilter {
  const states = statesOption(values);
  const program = textOption(values, "program");
  const queue = textOption(values, "queue");
  return { env, ...(states && { states }), ...(program && { program }), ...(queue && { queue }) };
}

function nothing({ env, values }: Call): string {
  const asked = ["state", "program", "queue"].filter((name) => values[name] !== undefined);
  if (asked.length > 0) return `No runs in env ${env} match ${asked.map((name) => `--${name}`).join(" and ")}.`;
  return `No runs in env ${env}. node.start(workflow, input) starts one; --env selects another env.`;
}
