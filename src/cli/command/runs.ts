// `holdfast runs`: the newest runs and their situation.

import { foundRuns, type RunQuery } from "../../client/found-runs.js";
import { Runs } from "../../client/runs.js";
import type { Duration } from "../../kernel/duration.js";
import { isEnded, RUN_STATES } from "../../kernel/run/run-state.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import { clientPlace } from "../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { findRun } from "../find-run.js";
import { ATTRIBUTES_OPTION, LIMIT_OPTION, limitOf, moreText, statesOption, WATCH_OPTION } from "../options.js";
import { runJson } from "../run-json.js";
import { reasonsOf } from "../run-reasons.js";
import { needsNodes, type Surroundings, situation, surroundings } from "../run-situation.js";
import { STATE_COLOURS } from "../text/paint.js";
import { shortIds } from "../text/short-id.js";
import { listText } from "../text/table.js";
import { timeAgo } from "../text/time-ago.js";

const OPTIONS = {
  state: statesOption(RUN_STATES),
  program: { type: "string", value: "P", description: "only of this program" },
  queue: { type: "string", value: "Q", description: "only of this queue" },
  key: { type: "string", value: "K", description: "only those started under a key that begins with K" },
  attribute: { ...ATTRIBUTES_OPTION, description: "only with these search attributes, separated by commas" },
  since: {
    type: "string",
    value: "D",
    description: "only those started this long ago at most, like 2h, or since an ISO time",
  },
  node: { type: "string", value: "N", description: "only those that this node holds" },
  parent: { type: "string", value: "RUN", description: "only children and tasks of this run" },
  deferred: { type: "boolean", description: "only those that a trigger_only node started for others" },
  limit: LIMIT_OPTION,
  watch: WATCH_OPTION,
} as const satisfies Options;

export const runs = defineCommand({
  name: "runs",
  takes: [],
  summary: "the newest runs and what they are doing",
  details:
    "Archived runs are omitted. Ids are shortened as far as they stay unique; every command accepts the short form.",
  options: OPTIONS,
  run: listRuns,
});

async function listRuns(call: Call<typeof OPTIONS>): Promise<Report> {
  const limit = limitOf(call.values);
  const place = await clientPlace(call);
  const { store } = place;
  const { runs, next } = await foundRuns(place, new Runs(place)).list(await queryOf(call), { limit });
  const around = surroundings(
    runs.some(needsNodes) ? await store.nodes.list({ env: call.env }) : [],
    await reasonsOf(store, call.env, runs),
  );
  const json = {
    runs: runs.map((run) => ({
      ...runJson(run),
      noCapableNode: around.lacksNode(run),
      now: situation(run, around, call.world.wallNow()),
    })),
    more: next !== null,
  };
  if (runs.length === 0) return { text: `${await nothing(call)}\n`, json };
  const list = listText(recordsOf(runs, around, call), ["PROGRAM", "QUEUE", "NOW"], call, ["STATE"]);
  return { text: list + moreText(next, limit, call.paint), json };
}

function recordsOf(runs: readonly RunRecord[], around: Surroundings, { world }: Call<typeof OPTIONS>) {
  const now = world.wallNow();
  const short = shortIds(runs.map(({ id }) => id));
  return runs.map((run) => ({
    RUN: short(run.id),
    STATE: { text: run.state, colour: STATE_COLOURS[run.state] },
    PROGRAM: run.group.program,
    // A queue usually has its program's name: show it only if it differs.
    QUEUE: run.group.queue === run.group.program ? "" : run.group.queue,
    CREATED: timeAgo(run.createdAt, now),
    NOW: { text: situation(run, around, now), colour: isEnded(run.state) ? ("dim" as const) : undefined },
  }));
}

const FILTERS = ["state", "program", "queue", "key", "attribute", "since", "node", "parent", "deferred"] as const;

async function queryOf(call: Call<typeof OPTIONS>): Promise<RunQuery> {
  const { state, attribute: attributes, program, queue, key: keyPrefix, since, node, parent, deferred } = call.values;
  return {
    ...(state && { state }),
    ...(program && { program }),
    ...(queue && { queue }),
    ...(keyPrefix && { keyPrefix }),
    ...(attributes && { attributes }),
    ...(since && { since: /^\d{4}-/.test(since) ? new Date(since) : (since as Duration) }),
    ...(node && { node }),
    ...(deferred && { deferred }),
    ...(parent && { parent: (await findRun(call, parent)).id }),
  };
}

async function nothing({ env, values, store }: Call<typeof OPTIONS>): Promise<string> {
  const asked = FILTERS.filter((name) => values[name] !== undefined);
  if (asked.length > 0) return `No runs in env ${env} match ${asked.map((name) => `--${name}`).join(" and ")}.`;
  const others = (await (await store()).views.envs()).filter((other) => other !== env);
  const elsewhere =
    others.length > 0 ? `--env selects another env; with runs: ${others.join(", ")}.` : "No env has any.";
  return `No runs in env ${env}. node.start(workflow, input) starts one; ${elsewhere}`;
}
