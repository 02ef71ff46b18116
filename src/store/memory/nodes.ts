// Nodes: each start registers its incarnation, gives signs of life and says when it stops.

import { checkNode } from "../check/node.js";
import { checkText, refuse } from "../check/value.js";
import {
  MISSED_HEARTBEATS,
  type NodeRecord,
  type NodeRegistration,
  type NodeStore,
  UNSAID_HEARTBEAT_MS,
} from "../contract/nodes.js";
import { compareText } from "./compare-text.js";
import { copyGroup } from "./group-table.js";
import { toMs } from "./micros.js";
import type { NodeRow } from "./rows.js";
import { runsInState, type Tables } from "./tables.js";

export function memoryNodes(tables: Tables): NodeStore {
  return {
    register: async (node) => registerNode(tables, node),
    heartbeat: async (incarnation) => beat(tables, incarnation),
    stop: async (incarnation) => {
      const row = tables.nodes.get(incarnation);
      if (row) row.stoppedAtUs ??= tables.nowUs();
    },
    list: async (filter) => listNodes(tables, filter),
  };
}

export function beat(tables: Tables, incarnation: string): boolean {
  const row = tables.nodes.get(incarnation);
  if (!row || row.stoppedAtUs !== null) return false;
  row.seenAtUs = tables.nowUs();
  return true;
}

function registerNode(tables: Tables, node: NodeRegistration): void {
  refuse(checkNode(node));
  const { incarnation, identity, name, env, stack, build, serves, heartbeatMs, leaseMs } = node;
  if (tables.nodes.has(incarnation)) return; // the reply to the first call was lost
  const nowUs = tables.nowUs();
  const times = { startedAtUs: nowUs, seenAtUs: nowUs, stoppedAtUs: null };
  tables.nodes.set(incarnation, {
    incarnation,
    identity,
    name,
    env,
    stack: stack ?? null,
    build: build ?? null,
    serves: [...(serves ?? [])],
    heartbeatMs: heartbeatMs ?? null,
    leaseMs: leaseMs ?? null,
    ...times,
    declares: false,
  });
}

function listNodes(
  tables: Tables,
  filter: { readonly env: string; readonly stopped?: boolean },
): readonly NodeRecord[] {
  refuse(checkText("env", filter.env));
  const holds = new Map<string | null, number>();
  for (const { owner } of runsInState(tables, "running")) holds.set(owner, (holds.get(owner) ?? 0) + 1);
  return [...tables.nodes.values()]
    .filter((row) => row.env === filter.env && (row.stoppedAtUs === null || filter.stopped === true))
    .sort((a, b) => b.startedAtUs - a.startedAtUs || compareText(a.incarnation, b.incarnation))
    .map((row) => nodeRecord(tables, row, holds.get(row.incarnation) ?? 0));
}

export function isAlive(tables: Tables, { stoppedAtUs, seenAtUs, heartbeatMs }: NodeRow): boolean {
  const silentUs = tables.nowUs() - seenAtUs;
  return stoppedAtUs === null && silentUs <= MISSED_HEARTBEATS * (heartbeatMs ?? UNSAID_HEARTBEAT_MS) * 1000;
}

function nodeRecord(tables: Tables, row: NodeRow, holds: number): NodeRecord {
  const { incarnation, identity, name, env, stack, build, heartbeatMs, leaseMs } = row;
  return {
    incarnation,
    identity,
    name,
    env,
    stack,
    build,
    heartbeatMs,
    leaseMs,
    serves: row.serves.flatMap((id) => tables.groups.groupOf(id) ?? []).map(copyGroup),
    startedAt: toMs(row.startedAtUs),
    seenAt: toMs(row.seenAtUs),
    stoppedAt: toMs(row.stoppedAtUs),
    alive: isAlive(tables, row),
    holds,
  };
}
