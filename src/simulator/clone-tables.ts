// Copies the memory store's tables: the content of a lagging replica, and its promotion to the database.

import { indexRun, type Tables } from "../store/memory/table/tables.js";

const NAMES = [
  ...(["runs", "journal", "inbox", "keys", "leases", "nodes", "limits", "rates", "pausedQueues", "schedules"] as const),
  ...(["subscriptions", "subscribers", "debounces", "probes", "timeouts", "needs", "definitions"] as const),
  ...(["definitionVersions", "keptModes", "deferred", "instances", "instanceEvents", "timers", "takenClaims"] as const),
  ...(["cleanups", "misfits", "attributes", "audit", "tokens", "runFigures", "queueFigures", "kept"] as const),
] as const;
type Names = typeof NAMES;
type Kept = Pick<Tables, Names[number]>;

/** Rows that change in place are copied, rows that are only replaced are shared. */
export function copyTables(tables: Tables): Kept {
  const { runs, journal, inbox, keys, leases, nodes, limits, rates, pausedQueues, schedules } = tables;
  return {
    runs: copyMap(runs, (row) => ({ ...row })),
    journal: copyMap(journal, (log) => new Map(log)),
    inbox: copyMap(inbox, (rows) => rows.map((row) => ({ ...row }))),
    keys: new Map(keys),
    leases: copyMap(leases, (row) => ({ ...row })),
    nodes: copyMap(nodes, (row) => ({ ...row })),
    limits: copyMap(limits, (rows) => rows.map((row) => ({ ...row }))),
    rates: new Map(rates),
    pausedQueues: new Map(pausedQueues),
    schedules: copyMap(schedules, (row) => ({ ...row })),
    needs: new Map(tables.needs),
    takenClaims: new Map(tables.takenClaims),
    cleanups: new Map(tables.cleanups),
    misfits: new Map(tables.misfits),
    attributes: new Map(tables.attributes),
    subscriptions: new Map(tables.subscriptions),
    subscribers: new Map(tables.subscribers),
    debounces: new Map(tables.debounces),
    probes: new Map(tables.probes),
    kept: new Map(tables.kept),
    keptModes: new Map(tables.keptModes),
    deferred: copyMap(tables.deferred, (row) => ({ ...row })),
    timeouts: new Map(tables.timeouts),
    definitions: new Map(tables.definitions),
    definitionVersions: new Map(tables.definitionVersions),
    instances: new Map(tables.instances),
    instanceEvents: copyMap(tables.instanceEvents, (log) => [...log]),
    timers: new Map(tables.timers),
    audit: new Map(tables.audit),
    tokens: new Map(tables.tokens),
    runFigures: new Map(tables.runFigures),
    queueFigures: new Map(tables.queueFigures),
  };
}

/** Group numbers, message ids and the floor of lease epochs are not set back: they are only ever compared, and new ones stay new. */
export function restoreTables(tables: Tables, kept: Kept): void {
  for (const name of NAMES) {
    const into = tables[name] as Map<string, unknown>;
    into.clear();
    for (const [key, value] of kept[name]) into.set(key, value);
  }
  tables.byState.clear();
  for (const row of tables.runs.values()) indexRun(tables, row);
}

function copyMap<V>(map: ReadonlyMap<string, V>, copy: (value: V) => V): Map<string, V> {
  return new Map([...map].map(([key, value]) => [key, copy(value)]));
}
