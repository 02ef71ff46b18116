// Nodes: each start registers its incarnation, sends heartbeats and signs off when it stops.

import { changeMode, type ModeChange, type ModeState } from "../../../kernel/node-mode.js";
import { omit } from "../../../kernel/omit.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { HouseRound } from "../../contract/node/house.js";
import type {
  ModeChangeOptions,
  NodeRecord,
  NodeRegistration,
  NodeStore,
  RegisterAnswer,
  Rival,
} from "../../contract/node/nodes.js";
import type { NodeVitals } from "../../contract/node/programs.js";
import { endClaimsOf, reclaimFrom } from "../claim/reclaim-expired.js";
import { copyGroup, declaredText } from "../run/group-table.js";
import { shown } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { NodeRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";
import { isHeard, isLive, noteMissing } from "./presence.js";
import type { Wakes } from "./wakes.js";

export function memoryNodes(tables: Tables, wakes: Wakes): NodeStore {
  return {
    register: async (node) => wakes.after(registerNode(tables, node)),
    heartbeat: async (incarnation) => beat(tables, incarnation),
    claimsFrom: async (incarnation, groupIds) => {
      const row = tables.nodes.get(incarnation);
      if (row) row.claims = [...groupIds];
    },
    changeMode: async (incarnation, change, options) => {
      const state = changeNode(tables, incarnation, change, options);
      wakes.news();
      return state;
    },
    stop: async (incarnation) => {
      const row = tables.nodes.get(incarnation);
      if (row) row.stoppedAtUs ??= tables.nowUs();
    },
    list: async (filter) => listNodes(tables, filter),
    programs: async (env) =>
      [...tables.programs.values()]
        .filter((row) => row.env === env)
        .sort((a, b) => compareText(a.name, b.name))
        .map((row) => omit(shown(row), "env")),
  };
}

export function beat(tables: Tables, incarnation: string, vitals?: NodeVitals): boolean {
  const row = tables.nodes.get(incarnation);
  if (!row || row.stoppedAtUs !== null) return false;
  row.seenAtUs = tables.nowUs();
  if (vitals) row.vitals = structuredClone(vitals);
  return true;
}

export function modeOf(tables: Tables, incarnation: string): ModeState | null {
  const row = tables.nodes.get(incarnation);
  return row && row.stoppedAtUs === null ? structuredClone(row.modes) : null;
}

function changeNode(
  tables: Tables,
  incarnation: string,
  change: ModeChange,
  { keep, by }: ModeChangeOptions,
): ModeState | null {
  const row = tables.nodes.get(incarnation);
  if (!row || row.stoppedAtUs !== null) return null;
  row.modes = changeMode(row.modes, change);
  const { env, identity, modes } = row;
  if (keep) {
    const { mode, overrides } = modes;
    tables.keptModes.set(joinKey(env, identity), { env, identity, mode, overrides, atUs: tables.nowUs(), by });
  }
  return structuredClone(modes);
}

function describe(tables: Tables, { env, programs = [] }: NodeRegistration): void {
  for (const { name, kind, shape, inputSchema } of new Map(programs.map((one) => [one.name, one])).values()) {
    const told = { env, name, kind, shape: shape ?? null, inputSchema: inputSchema ?? null };
    const known = tables.programs.get(joinKey(env, name));
    const isKnown =
      known && Object.entries(told).every(([field, value]) => known[field as keyof typeof told] === value);
    if (!isKnown) tables.programs.set(joinKey(env, name), { ...told, atUs: tables.nowUs() });
  }
}

function registerNode(tables: Tables, node: NodeRegistration): RegisterAnswer {
  const { incarnation, identity, name, env, stack, build, serves, executors, alone, mode = "full" } = node;
  const { heartbeatMs, leaseMs, presenceGraceMs, reclaims = true } = node;
  const others = [...tables.nodes.values()].filter(
    (row) => row.env === env && row.stack === (stack ?? null) && row.incarnation !== incarnation,
  );
  const nowUs = tables.nowUs();
  if (!tables.nodes.has(incarnation)) {
    const rival = others
      .filter((row) => (alone || row.alone) && isLive(tables, row))
      .sort((a, b) => a.startedAtUs - b.startedAtUs || compareText(a.incarnation, b.incarnation))[0];
    if (rival) return { outcome: "refused", by: rivalOf(rival) };
    const kept = tables.keptModes.get(joinKey(env, identity));
    const modes: ModeState = { mode: kept?.mode ?? mode, overrides: kept?.overrides ?? {}, drain: null };
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
      presenceGraceMs: presenceGraceMs ?? null,
      attends: false,
      absentSinceUs: null,
      claims: modes.mode === "full" && Object.keys(modes.overrides).length === 0 ? [...(serves ?? [])] : [],
      modes,
      ...times,
      vitals: null,
      declared: new Map(),
      declares: false,
    });
  } else {
    const row = tables.nodes.get(incarnation)!;
    tables.nodes.set(incarnation, { ...row, serves: [...(serves ?? [])], executors: structuredClone(executors ?? []) });
  }
  const mine = tables.nodes.get(incarnation)!;
  if (mine.stoppedAtUs !== null) return { outcome: "stopped" };
  const dead = others.filter(
    (row) =>
      !isLive(tables, row) &&
      (alone || (row.stoppedAtUs === null && (row.alone || (row.identity === identity && row.attends)))),
  );
  for (const row of dead) if (alone || row.alone) row.stoppedAtUs ??= nowUs;
  noteMissing(tables, env, incarnation);
  describe(tables, node);
  const owners = new Set(dead.map((row) => row.incarnation));
  if (!reclaims) endClaimsOf(tables, owners);
  const reclaimed = reclaims ? reclaimFrom(tables, owners, incarnation) : [];
  return { outcome: "registered", mode: structuredClone(mine.modes), reclaimed };
}

function rivalOf({ incarnation, identity, name, alone }: NodeRow): Rival {
  return { incarnation, identity, name, alone };
}

function listNodes(
  tables: Tables,
  filter: { readonly env: string; readonly stopped?: boolean },
): readonly NodeRecord[] {
  const holds = new Map<string | null, number>();
  for (const { owner } of runsInState(tables, "running")) holds.set(owner, (holds.get(owner) ?? 0) + 1);
  return [...tables.nodes.values()]
    .filter((row) => row.env === filter.env && (row.stoppedAtUs === null || filter.stopped === true))
    .sort((a, b) => b.startedAtUs - a.startedAtUs || compareText(a.incarnation, b.incarnation))
    .map((row) => nodeRecord(tables, row, holds.get(row.incarnation) ?? 0));
}

export function isAlive(tables: Tables, row: NodeRow): boolean {
  return row.stoppedAtUs === null && isHeard(tables, row);
}

/** Live nodes of the same env that claim from a group this one claims from, including itself. */
export function peersOf(tables: Tables, incarnation: string): number {
  const mine = tables.nodes.get(incarnation);
  const isPeer = (row: NodeRow) =>
    row.env === mine?.env && row.claims.some((id) => mine.claims.includes(id)) && (row === mine || isLive(tables, row));
  return [...tables.nodes.values()].filter(isPeer).length;
}

/** Of these groups, those that no live node with a lower incarnation claims from. */
export function firstOf(tables: Tables, { incarnation, env, timerGroups = [] }: HouseRound): number[] {
  const lower = [...tables.nodes.values()].filter(
    (row) => row.env === env && compareText(row.incarnation, incarnation) < 0 && isLive(tables, row),
  );
  return timerGroups.filter((id) => !lower.some(({ claims }) => claims.includes(id))).sort((a, b) => a - b);
}

function nodeRecord(tables: Tables, row: NodeRow, holds: number): NodeRecord {
  return {
    ...omit(shown(row), "modes", "attends", "absentSince", "declared", "declares"),
    ...structuredClone(row.modes),
    executors: structuredClone(row.executors),
    vitals: structuredClone(row.vitals),
    serves: groupsIn(tables, row.serves),
    claims: groupsIn(tables, row.claims),
    overruled: groupsIn(tables, overruledOf(tables, row)),
    alive: isAlive(tables, row),
    holds,
  };
}

function groupsIn(tables: Tables, ids: readonly number[]): RunGroup[] {
  return ids.flatMap((id) => tables.groups.groupOf(id) ?? []).map(copyGroup);
}

/** Groups that it claims from and for which something other than its own declaration applies. */
function overruledOf(tables: Tables, { stoppedAtUs, claims, declared }: NodeRow): readonly number[] {
  if (stoppedAtUs !== null) return [];
  return claims.filter((id) => {
    const holds = tables.groups.declaredFor(id);
    return holds && declared.has(id) && declared.get(id) !== declaredText(holds);
  });
}
