// The maps of the memory store: the counterparts of PostgreSQL's tables and partial indexes.

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
  KeyRow,
  LeaseRow,
  LimitRow,
  MessageRow,
  MisfitRow,
  NodeRow,
  PausedQueueRow,
  Presence,
  ProbeRow,
  RunRow,
  ScheduleRow,
  TakenClaimRow,
  TimeoutRow,
  TimerRow,
  TokenRow,
} from "./rows.js";

export interface Tables {
  /** The database's clock: every lease, delay and expiry is judged by it. */
  nowUs(): number;
  /** Global and growing, also in a transaction that is rolled back: only its order counts. */
  nextMessageId(): number;
  readonly groups: GroupTable;
  readonly runs: Map<string, RunRow>;
  /** The partial indexes: a claim reads only waiting runs, a reclaim only running ones. */
  readonly byState: Map<RunState, Set<RunRow>>;
  readonly journal: Map<string, Map<number, JournalRow>>;
  /** Lists are replaced, not pushed to: an open transaction may hold a longer one. */
  readonly inbox: Map<string, readonly MessageRow[]>;
  /** By run, in order. Lists are replaced. */
  readonly takenClaims: Map<string, readonly TakenClaimRow[]>;
  /** By run. */
  readonly misfits: Map<string, MisfitRow>;
  readonly keys: Map<string, KeyRow>;
  readonly leases: Map<string, LeaseRow>;
  /** The highest epoch of all removed lease keys. */
  readonly leaseFloor: { epoch: number };
  /** By env and part of the clean-up: when it was last done. */
  readonly cleanups: Map<string, number>;
  readonly nodes: Map<string, NodeRow>;
  readonly presence: Presence;
  /** By run, in the order of stages. */
  readonly limits: Map<string, readonly LimitRow[]>;
  /** By key: when the next run of a rate may start. */
  readonly rates: Map<string, number>;
  /** Limited runs that were woken since their lines were last evaluated. */
  readonly woken: Set<string>;
  /** By the needed task: those that need it. */
  readonly needs: Map<string, readonly string[]>;
  /** By the task that needs them, in order. */
  readonly needed: Map<string, readonly string[]>;
  /** Tasks that became ready since the last notification. */
  readonly ready: Set<RunRow>;
  /** Limited runs that were cancelled with others: their slots are free. */
  readonly left: Set<string>;
  /** Runs skipped by a limit and not reported yet. */
  readonly skipped: SkippedRun[];
  readonly pausedQueues: Map<string, PausedQueueRow>;
  /** By env, stack, program and key. */
  readonly schedules: Map<string, ScheduleRow>;
  /** By env and id. */
  readonly subscriptions: Map<string, Subscription>;
  /** By env and subscription: the incarnations that declare it. Sets are replaced, not added to. */
  readonly subscribers: Map<string, ReadonlySet<string>>;
  /** By env, subscription and subject. */
  readonly debounces: Map<string, DebounceRow>;
  /** By env, program, opening and number. */
  readonly probes: Map<string, ProbeRow>;
  /** By env and identity. */
  readonly keptModes: Map<string, KeptModeRow>;
  /** By run. */
  readonly deferred: Map<string, DeferredRow>;
  /** By env, kind and name. */
  readonly definitions: Map<string, DefinitionRow>;
  /** By env, kind, name and version. */
  readonly definitionVersions: Map<string, DefinitionVersionRow>;
  /** By env, scope and instance. */
  readonly timeouts: Map<string, TimeoutRow>;
  readonly instances: Map<string, InstanceRow>;
  /** By instance, in order. Only appended to. */
  readonly instanceEvents: Map<string, InstanceEventRow[]>;
  readonly timers: Map<string, TimerRow>;
  readonly audit: Map<string, AuditTableRow>;
  readonly tokens: Map<string, TokenRow>;
}

export function newTables(world: World): Tables {
  let lastMessageId = 0;
  return {
    nowUs: () => wallNowUs(world),
    nextMessageId: () => ++lastMessageId,
    groups: new GroupTable(),
    runs: new Map(),
    byState: new Map(),
    journal: new Map(),
    inbox: new Map(),
    takenClaims: new Map(),
    misfits: new Map(),
    keys: new Map(),
    leases: new Map(),
    leaseFloor: { epoch: 0 },
    cleanups: new Map(),
    nodes: new Map(),
    presence: { held: new Set(), serverStartedAtUs: Number.NEGATIVE_INFINITY },
    limits: new Map(),
    rates: new Map(),
    woken: new Set(),
    needs: new Map(),
    needed: new Map(),
    ready: new Set(),
    left: new Set(),
    skipped: [],
    pausedQueues: new Map(),
    schedules: new Map(),
    subscriptions: new Map(),
    subscribers: new Map(),
    debounces: new Map(),
    probes: new Map(),
    keptModes: new Map(),
    deferred: new Map(),
    definitions: new Map(),
    definitionVersions: new Map(),
    timeouts: new Map(),
    instances: new Map(),
    instanceEvents: new Map(),
    timers: new Map(),
    audit: new Map(),
    tokens: new Map(),
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
