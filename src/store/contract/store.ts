// The store: all durable state of Holdfast, as operations and not as tables. Each noun has a file in this folder.
//
// The life of a run, as operations:
//   runs.insert      a caller (maybe in its own transaction) stores the run and its input: `waiting`
//   runs.admit       a run with limits is `held` first, until each of its limits admits it
//   runs.claim       a node takes the run for the duration of a lease: `running`, epoch + 1, a fresh token
//   journal.read     returns what happened so far; inbox.unread returns the messages that arrived meanwhile
//   runs.renew       extends the lease while the work continues
//   runs.commit      the holder writes effects under its fence: steps done, messages taken, children started;
//                    the last effect releases the claim: completed, failed, retry, park, hand back
//   inbox.send       a caller signals, decides or cancels: a parked run is `waiting` again
//   reclaim          the holder died: `waiting` again, or `dead` when that happened too often
//   runs.archive, runs.prune  archive and delete runs that ended long ago
//
// Two stores implement this contract, PostgreSQL and memory; the conformance suite in `holdfast/testing` tests any other.

import type { AuditStore } from "./audit/audit.js";
import type { TokenStore } from "./audit/tokens.js";
import type { Cleaned, CleanRound } from "./cleanup.js";
import type { DefinitionStore } from "./definition/definitions.js";
import type { EventStore } from "./event/events.js";
import type { InboxStore } from "./inbox/inbox.js";
import type { JournalStore } from "./journal/journal.js";
import type { KeptStore } from "./kept/kept.js";
import type { LeaseStore } from "./lease/leases.js";
import type { BreakerStore } from "./limit/breakers.js";
import type { QueueStore } from "./limit/queues.js";
import type { MachineStore } from "./machine/machines.js";
import type { Attendance, Attendee } from "./node/attend.js";
import type { HouseReport, HouseRound, ReclaimRound } from "./node/house.js";
import type { NodeStore } from "./node/nodes.js";
import type { Reclaimed, RunStore } from "./run/runs.js";
import type { ScheduleStore } from "./schedule/schedules.js";
import type { StatisticsStore } from "./statistic/statistics.js";
import type { TimeoutTable } from "./timeout/timeouts.js";
import type { ViewStore } from "./view/views.js";

/** Where runs are stored. `postgres(…)` and `memoryStore()` make one; nodes and clients share it. */
export interface Store {
  /** Runs: insert, claim, commit, renew, reclaim, find. */
  readonly runs: RunStore;
  /** Journals of runs. */
  readonly journal: JournalStore;
  /** Messages to runs. */
  readonly inbox: InboxStore;
  /** Named leases. */
  readonly leases: LeaseStore;
  /** Values that outlive runs. */
  readonly kept: KeptStore;
  /** Nodes, their presence and modes. */
  readonly nodes: NodeStore;
  /** Queues, their pauses and limits. */
  readonly queues: QueueStore;
  /** Schedules and their windows. */
  readonly schedules: ScheduleStore;
  /** Events, subscriptions and debounce. */
  readonly events: EventStore;
  /** Circuit breakers. */
  readonly breakers: BreakerStore;
  /** Programs stored as data. */
  readonly definitions: DefinitionStore;
  /** Durable timeouts of your own instances. */
  readonly timeouts: TimeoutTable;
  /** Machine instances and their timers. */
  readonly machines: MachineStore;
  /** Lists for the dashboard. */
  readonly views: ViewStore;
  /** Who changed what. */
  readonly audit: AuditStore;
  /** Tokens of the admin API. */
  readonly tokens: TokenStore;
  /** Figures over time. */
  readonly statistics: StatisticsStore;
  /** From now on until the node leaves: wakes it, and tracks its presence where the store can. */
  attend(attendee: Attendee): Promise<Attendance>;
  /** Records a sign of life, returns which nodes are missing and what is to be done. Not repeated after a failure: the caller has a next round. */
  housekeep(round: HouseRound): Promise<HouseReport>;
  /** Reclaims the claims of nodes that are gone and those whose lease has expired, in the witness's env. Not repeated either. */
  reclaim(round: ReclaimRound): Promise<readonly Reclaimed[]>;
  /** Removes a batch of rows that are no longer needed. Null: a node of the env has done this part recently. */
  cleanUp(round: CleanRound): Promise<Cleaned | null>;
  /** Closes what the store itself opened; a pool of yours stays open. */
  close(): Promise<void>;
}
