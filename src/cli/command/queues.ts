// `holdfast queues`: lists queues with their open runs; pauses and resumes them.

import { RUN_STATES } from "../../kernel/run/run-state.js";
import type { QueueRecord } from "../../store/contract/limit/queues.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { verbOf, WATCH_OPTION } from "../options.js";
import { listText } from "../text/table.js";
import { isoTime, span, timeAgo } from "../text/time-ago.js";

const VERBS = ["pause", "resume"] as const;

const OPTIONS = { watch: WATCH_OPTION } as const satisfies Options;

export const queues = defineCommand({
  name: "queues",
  takes: ["[pause|resume]", "[QUEUE]"],
  summary: "list queues and their open runs; pause or resume one",
  details:
    "No node claims runs of a paused queue; running ones continue. OLDEST: how long the oldest claimable run has waited.",
  options: OPTIONS,
  run: async (call) => {
    const [, queue] = call.arguments;
    const verb = verbOf(call, "queues", VERBS);
    if (verb === undefined) return listQueues(call);
    if (queue === undefined) throw new CommandMisused(`queues ${verb} needs the name of a QUEUE`);
    const { queues: all } = await call.store();
    if (verb === "pause") await all.pause(call.env, queue, call.actor);
    else await all.resume(call.env, queue);
    return { text: `${queue} is ${verb}d.\n`, json: { queue, paused: verb === "pause" } };
  },
});

async function listQueues(call: Call<typeof OPTIONS>): Promise<Report> {
  const found = await (await call.store()).queues.list(call.env);
  const json = {
    queues: found.map((one) => ({ ...one, paused: one.paused && { ...one.paused, at: isoTime(one.paused.at) } })),
  };
  if (found.length === 0) return { text: `No queue of env ${call.env} has open runs, and none is paused.\n`, json };
  const now = call.world.wallNow();
  return {
    text: listText(
      found.map((one) => recordOf(one, now)),
      ["QUEUE", "RUNS"],
      call,
    ),
    json,
  };
}

function recordOf({ queue, counts, oldestWaitingMs, paused }: QueueRecord, now: number) {
  const runs = RUN_STATES.flatMap((state) => (counts[state] ? [`${counts[state]} ${state}`] : [])).join(", ");
  return {
    QUEUE: queue,
    STATE: paused ? { text: `paused by ${paused.by} ${timeAgo(paused.at, now)}`, colour: "yellow" as const } : "open",
    OLDEST: oldestWaitingMs === null ? "" : span(oldestWaitingMs),
    RUNS: runs,
  };
}
