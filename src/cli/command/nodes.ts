// `holdfast nodes`: lists the nodes: since when they run, what they serve, how many runs they hold.

import type { RunGroup } from "../../kernel/run/new-run.js";
import { isDerived } from "../../node/derive-build.js";
import type { NodeRecord } from "../../store/contract/node/nodes.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { WATCH_OPTION } from "../options.js";
import type { Colour } from "../text/paint.js";
import { listText } from "../text/table.js";
import { isoTime, timeAgo } from "../text/time-ago.js";
import { modeText } from "./mode.js";

type Presence = "alive" | "silent" | "stopped";
const COLOURS: Readonly<Record<Presence, Colour>> = { alive: "green", silent: "red", stopped: "dim" };

const OPTIONS = {
  all: {
    type: "boolean",
    description: "also nodes that stopped in an orderly way, or fell silent more than a day ago",
  },
  watch: WATCH_OPTION,
} as const satisfies Options;

export const nodes = defineCommand({
  name: "nodes",
  takes: [],
  summary: "live nodes: since when, what they serve, how many runs they hold",
  details:
    "alive: a heartbeat arrived within three heartbeat intervals. silent: none for longer, and no orderly stop; its runs are\n" +
    "reclaimed when its leases expire. SERVES: the programs whose runs it claims; (queue), @version; with several\n" +
    "executors, by executor and slots: gpu×1: …. alone: the only node of its env and stack (flow.claiming: false).\n" +
    "overruled: PROGRAM: a newer node declares other limits or another recovery for it, which apply instead.",
  options: OPTIONS,
  run: listNodes,
});

async function listNodes({ store, env, values, world, width, paint }: Call<typeof OPTIONS>): Promise<Report> {
  const now = world.wallNow();
  const listed = await (await store()).nodes.list({ env, stopped: values.all === true });
  const found = values.all === true ? listed : withoutLongSilent(listed, now);
  const json = { nodes: found.map(nodeJson) };
  if (found.length === 0) {
    const hint = values.all ? "No node has ever started." : "createNode(…) starts one; --all also shows stopped ones.";
    return { text: `No nodes in env ${env}. ${hint}\n`, json };
  }
  const records = found.map((node) => ({
    NODE: node.name === node.identity ? node.name : `${node.name} (${node.identity})`,
    STATE: { text: stateText(node), colour: COLOURS[presence(node)] },
    HOLDS: node.holds,
    SERVES: servesText(node),
    STACK: node.stack ?? "",
    // A derived build is a hash: it means nothing to people and takes up space.
    BUILD: node.build === null || isDerived(node.build) ? "" : node.build,
    STARTED: timeAgo(node.startedAt, now),
    SEEN: timeAgo(node.seenAt, now),
    INCARNATION: node.incarnation.slice(0, 8),
  }));
  return { text: listText(records, ["NODE", "SERVES", "STACK", "BUILD"], { width, paint }), json };
}

const DAY_MS = 86_400_000;

/** Live nodes first; those that fell silent more than a day ago, and hold nothing, are left out. */
function withoutLongSilent(nodes: readonly NodeRecord[], now: number): readonly NodeRecord[] {
  const shown = nodes.filter(({ alive, seenAt, holds }) => alive || holds > 0 || now - seenAt <= DAY_MS);
  return [...shown.filter(({ alive }) => alive), ...shown.filter(({ alive }) => !alive)];
}

/** Mode `full` is the default and not shown. */
function stateText(node: NodeRecord): string {
  const mode = modeText(node);
  const overruled = [...new Set(node.overruled.map(({ program }) => program))];
  return [
    presence(node),
    ...(node.alone ? ["alone"] : []),
    ...(mode === "full" ? [] : [mode]),
    ...(overruled.length > 0 ? [`overruled: ${overruled.join(" ")}`] : []),
  ].join(", ");
}

function presence({ stoppedAt, alive }: NodeRecord): Presence {
  if (stoppedAt !== null) return "stopped";
  return alive ? "alive" : "silent";
}

/** A single executor with the default name is not shown. */
function servesText({ serves, executors }: NodeRecord): string {
  if (executors.length === 0 || (executors.length === 1 && executors[0]!.name === "default"))
    return programsText(serves);
  return executors
    .map(({ name, slots, queues }) => {
      const programs = programsText(serves.filter(({ queue }) => queues.includes(queue)));
      return `${name}×${slots}: ${programs === "" ? "nothing" : programs}`;
    })
    .join("; ");
}

/** Lists a program once, with the version it is pinned to; its queue only if the name differs. */
function programsText(serves: readonly RunGroup[]): string {
  const pinned = new Map<string, string>();
  for (const { program, queue, version } of serves) {
    const name = queue === program ? program : `${program} (${queue})`;
    if (version !== null || !pinned.has(name)) pinned.set(name, version === null ? name : `${name} @${version}`);
  }
  return [...pinned.values()].join(", ");
}

function nodeJson(node: NodeRecord): Readonly<Record<string, unknown>> {
  const { startedAt, seenAt, stoppedAt, alive: _, ...rest } = node;
  const times = { startedAt: isoTime(startedAt), seenAt: isoTime(seenAt), stoppedAt: isoTime(stoppedAt) };
  return { ...rest, state: presence(node), ...times };
}
