// The maps of the memory store: the counterparts of PostgreSQL's tables and partial indexes.

import type { Attributes } from "../../../kernel/run/attribute.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { World } from "../../../kernel/world.js";
import type { Subscription } from "../../contract/event/events.js";
import type { SkippedRun } from "../../contract/node/attend.js";
import { GroupTable } from "../run/group-table.js";
import { wallNowUs } from "./micros.js";
import type {
  AuditTableRow,
  DebounceRow,
  DeferredRow,
  DefinitionRow,
  DefinitionVersionRow,
  InstanceEventRow,
  InstanceRow,
  JournalRow,
  KeptModeRow,
  KeptRow,
  KeyRow,
  LeaseRow,
  LimitRow,
  MessageRow,
  MisfitRow,
  NodeRow,
  PausedQueueRow,
  ProbeRow,
  ProgramRow,
  QueueFigureRow,
  RunFigureRow,
  RunRow,
  ScheduleRow,
  TakenClaimRow,
  TimeoutRow,
  TimerRow,
  TokenRow,
} from "./rows.js";

export type Tables = Readonly<ReturnType<typeof newTables>>;

export function newTables(world: World) {
  let lastMessageId = 0;
  return {
    /** The database's clock: every lease, delay and expiry is judged by it. */
    nowUs: () => wallNowUs(world),
    /** Global and growing, also in a transaction that is rolled back: only its order counts. */
    nextMessageId: () => ++lastMessageId,
    groups: new GroupTable(),
    runs: new Map<string, RunRow>(),
    /** The partial indexes: a claim reads only waiting runs, a reclaim only running ones. */
    byState: new Map<RunState, Set<RunRow>>(),
    journal: new Map<string, Map<number, JournalRow>>(),
    /** Lists are replaced, not pushed to: an open transaction may hold a longer one. */
    inbox: new Map<string, readonly MessageRow[]>(),
    /** By run, in order. Lists are replaced. */
    takenClaims: new Map<string, readonly TakenClaimRow[]>(),
    /** By run. */
    misfits: new Map<string, MisfitRow>(),
    keys: new Map<string, KeyRow>(),
    leases: new Map<string, LeaseRow>(),
    /** The highest epoch of all removed lease keys. */
    leaseFloor: { epoch: 0 },
    /** By env and part of the clean-up: when it was last done. */
    cleanups: new Map<string, number>(),
    nodes: new Map<string, NodeRow>(),
    /** By incarnation: those whose presence lock is held. It belongs to sessions, not rows: lost with the server. */
    presence: { held: new Set<string>(), serverStartedAtUs: Number.NEGATIVE_INFINITY },
    /** By run, in the order of stages. */
    limits: new Map<string, readonly LimitRow[]>(),
    /** By key: when the next run of a rate may start. */
    rates: new Map<string, number>(),
    /** Limited runs that were woken since their lines were last evaluated. */
    woken: new Set<string>(),
    /** By the needed task: those that need it. */
    needs: new Map<string, readonly string[]>(),
    /** By the task that needs them, in order. */
    needed: new Map<string, readonly string[]>(),
    /** Tasks that became ready since the last notification. */
    ready: new Set<RunRow>(),
    /** Limited runs that were cancelled with others: their slots are free. */
    left: new Set<string>(),
    /** Runs skipped by a limit and not reported yet. */
    skipped: [] as SkippedRun[],
    pausedQueues: new Map<string, PausedQueueRow>(),
    /** By env, stack, program and key. */
    schedules: new Map<string, ScheduleRow>(),
    /** By env and id. */
    subscriptions: new Map<string, Subscription>(),
    /** By env and subscription: the incarnations that declare it. Sets are replaced, not added to. */
    subscribers: new Map<string, ReadonlySet<string>>(),
    /** By env, subscription and subject. */
    debounces: new Map<string, DebounceRow>(),
    /** By env, program, opening and number. */
    probes: new Map<string, ProbeRow>(),
    /** By env and identity. */
    keptModes: new Map<string, KeptModeRow>(),
    /** By env and name. Replaced, not changed. */
    programs: new Map<string, ProgramRow>(),
    /** By run. */
    deferred: new Map<string, DeferredRow>(),
    /** By run. Replaced, not changed. */
    attributes: new Map<string, Attributes>(),
    /** By env, kind and name. */
    definitions: new Map<string, DefinitionRow>(),
    /** By env, kind, name and version. */
    definitionVersions: new Map<string, DefinitionVersionRow>(),
    ...tablesApartFromRuns(),
  };
}

function tablesApartFromRuns() {
  return {
    /** By env, space and key. Rows are replaced. */
    kept: new Map<string, KeptRow>(),
    /** By env, scope and instance. */
    timeouts: new Map<string, TimeoutRow>(),
    instances: new Map<string, InstanceRow>(),
    /** By instance, in order. Only appended to. */
    instanceEvents: new Map<string, InstanceEventRow[]>(),
    timers: new Map<string, TimerRow>(),
    audit: new Map<string, AuditTableRow>(),
    tokens: new Map<string, TokenRow>(),
    /** By env, step, time and name; rows are replaced. */
    runFigures: new Map<string, RunFigureRow>(),
    queueFigures: new Map<string, QueueFigureRow>(),
  };
}

export function runsInState(tables: Tables, state: RunState): RunRow[] {
  return [...(tables.byState.get(state) ?? [])];
}

export function indexRun(tables: Tables, row: RunRow): void {
  const rows = tables.byState.get(row.state);
  if (rows) rows.add(row);
  else tables.byState.set(row.state, new Set([row]));
}
