// `holdfast nodes`: which processes are there, since when, and how much they hold.

import type { NodeRecord } from "../store/contract/nodes.js";
import type { Call, Command, Report } from "./command.js";
import { WATCH_OPTION } from "./options.js";
import type { Colour } from "./paint.js";
import { tableLines } from "./table.js";
import { isoTime, timeAgo } from "./time-ago.js";

/** A node tells that it lives once a second, and its claims last 15 s, unless it was set up otherwise. */
const SILENT_AFTER_MS = 15_000;

type Presence = "alive" | "silent" | "stopped";
const COLOURS: Readonly<Record<Presence, Colour>> = { alive: "green", silent: "red", stopped: "dim" };

export const nodes: Command = {
  name: "nodes",
  takes: [],
  summary: "who is alive, since when, holding how many runs",
  details:
    "alive: heard of within 15 s. silent: not heard of for longer, and never stopped in order; what it held is taken over\n" +
    "when its leases are over.",
  options: {
    all: { type: "boolean", says: "also those that stopped in order" },
    watch: WATCH_OPTION,
  },
  run: listNodes,
};

async function listNodes({ store, env, values, world, width, paint }: Call): Promise<Report> {
  const found = await (await store()).nodes.list({ env, stopped: values["all"] === true });
  const now = world.wallNow();
  const json = { nodes: found.map((node) => nodeJson(node, now)) };
  if (found.length === 0) {
    const hint = values["all"] ? "None has ever started." : "createNode(…) starts one; --all also shows stopped ones.";
    return { text: `No nodes in env ${env}. ${hint}\n`, json };
  }
  const columns = [
    { title: "NODE", flexible: true },
    { title: "STATE" },
    { title: "HOLDS", align: "right" as const },
    { title: "STACK", flexible: true },
    { title: "BUILD", flexible: true },
    { title: "STARTED" },
    { title: "SEEN" },
    { title: "INCARNATION" },
  ];
  const rows = found.map((node) => [
    node.name === node.identity ? node.name : `${node.name} (${node.identity})`,
    { text: presence(node, now), colour: COLOURS[presence(node, now)] },
    String(node.holds),
    node.stack ?? "",
    node.build ?? "",
    timeAgo(node.startedAt, now),
    timeAgo(node.seenAt, now),
    node.incarnation.slice(0, 8),
  ]);
  return { text: `${tableLines({ columns, rows }, width, paint).join("\n")}\n`, json };
}

function presence({ stoppedAt, seenAt }: NodeRecord, now: number): Presence {
  if (stoppedAt !== null) return "stopped";
  return now - seenAt > SILENT_AFTER_MS ? "silent" : "alive";
}

function nodeJson(node: NodeRecord, now: number): Readonly<Record<string, unknown>> {
  const { startedAt, seenAt, stoppedAt, ...rest } = node;
  const times = { startedAt: isoTime(startedAt), seenAt: isoTime(seenAt), stoppedAt: isoTime(stoppedAt) };
  return { ...rest, state: presence(node, now), ...times };
}
