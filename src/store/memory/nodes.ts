// Nodes: each start registers its incarnation, gives signs of life and says when it stops.

import { checkNode } from "../check/node.js";
import { checkText, refuse } from "../check/value.js";
import {
  MISSED_HEARTBEATS,
  type NodeRecord,
  type NodeRegistration,
  type NodeStore,
  type RegisterAnswer,
  type Rival,
  UNSAID_HEARTBEAT_MS,
} from "../contract/nodes.js";
import { compareText } from "./compare-text.js";
import { copyGroup } from "./group-table.js";
import { toMs } from "./micros.js";
import type { NodeRow } from "./rows.js";
import { takeBackFrom } from "./sweep-expired.js";
import { runsInState, type Tables } from "./tables.js";

/** \`ringing\`: looks after whoever was rung, because a run that was taken back is dead. */
export function memoryNodes(tables: Tables, ringing: (answer: RegisterAnswer) => RegisterAnswer): NodeStore {
  return {
    register: async (node) => ringing(registerNode(tables, node)),
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

function registerNode(tables: Tables, node: NodeRegistration): RegisterAnswer {
  refuse(checkNode(node));
  const { incarnation, identity, name, env, stack, build, serves, executors, alone, heartbeatMs, leaseMs } = node;
  const others = [...tables.nodes.values()].filter(
    (row) => row.env === env && row.stack === (stack ?? null) && row.incarnation !== incarnation,
  );
  const nowUs = tables.nowUs();
  if (!tables.nodes.has(incarnation)) {
    const rival = others
      .filter((row) => (alone || row.alone) && isAlive(tables, row))
      .sort((a, b) => a.startedAtUs - b.startedAtUs || compareText(a.incarnation, b.incarnation))[0];
    if (rival) return { outcome: "refused", by: rivalOf(rival) };
    const times = { startedAtUs: nowUs, seenAtUs: nowUs, stoppedAtUs: null };
    tables.nodes.set(incarnation, {
      incarnation,
      identity,
      name,
      env,
      stack: stack ?? null,
      build: build ?? null,
      serves: [...(serves ?? [])],
      executors: structuredClone(executors ?? []),
      alone: alone ?? false,
      heartbeatMs: heartbeatMs ?? null,
      leaseMs: leaseMs ?? null,
      ...times,
      declares: false,
    });
  } else {
    const row = tables.nodes.get(incarnation)!;
    tables.nodes.set(incarnation, { ...row, serves: [...(serves ?? [])], executors: structuredClone(executors ?? []) });
  }
  if (tables.nodes.get(incarnation)!.stoppedAtUs !== null) return { outcome: "stopped" };
  // Nobody's death is seen here before its heartbeats stop: only who is or was alone is replaced at the start.
  const dead = others.filter((row) => !isAlive(tables, row) && (alone || (row.alone && row.stoppedAtUs === null)));
  for (const row of dead) row.stoppedAtUs ??= nowUs;
  return { outcome: "registered", reclaimed: takeBackFrom(tables, new Set(dead.map((row) => row.incarnation))) };
}

function rivalOf({ incarnation, identity, name, alone }: NodeRow): Rival {
  return { incarnation, identity, name, alone };
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

export function isAlive(tables: Tables, row: NodeRow): boolean {
  return row.stoppedAtUs === null && tables.nowUs() - row.seenAtUs <= heartbeatsMs(row) * 1000;
}

/** Alone, and not heard of for as long as its claims would have held, had it renewed them. */
export function isLoneAndSilent(tables: Tables, row: NodeRow): boolean {
  return row.alone && tables.nowUs() - row.seenAtUs > Math.max(row.leaseMs ?? 0, heartbeatsMs(row)) * 1000;
}

function heartbeatsMs({ heartbeatMs }: NodeRow): number {
  return MISSED_HEARTBEATS * (heartbeatMs ?? UNSAID_HEARTBEAT_MS);
}

function nodeRecord(tables: Tables, row: NodeRow, holds: number): NodeRecord {
  const { incarnation, identity, name, env, stack, build, alone, heartbeatMs, leaseMs } = row;
  return {
    incarnation,
    identity,
    name,
    env,
    stack,
    build,
    alone,
    heartbeatMs,
    leaseMs,
    executors: structuredClone(row.executors),
    serves: row.serves.flatMap((id) => tables.groups.groupOf(id) ?? []).map(copyGroup),
    startedAt: toMs(row.startedAtUs),
    seenAt: toMs(row.seenAtUs),
    stoppedAt: toMs(row.stoppedAtUs),
    alive: isAlive(tables, row),
    holds,
  };
}
