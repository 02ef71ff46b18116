// The store: everything Holdfast keeps, as operations and not as tables. One file per noun beside this one.
//
// The life of a run, told by its operations:
//   runs.insert      a caller (maybe in its own transaction) puts the run and its input there: `waiting`
//   runs.admit       a run with limits is `held` first, until its turn has come under each of them
//   runs.claim       a node takes it for a lease's time: `running`, epoch + 1, a fresh token
//   journal.read     what happened so far; inbox.unread: what others said meanwhile
//   runs.renew       the lease goes on while the work does
//   runs.commit      the holder writes effects under its fence: steps done, messages taken in, children started;
//                    the last effect of all gives the claim back: completed, failed, retry, park, hand back
//   inbox.send       somebody signals, decides or cancels: a parked run is `waiting` again
//   reclaim          the holder died: `waiting` again, or `dead` when that happened too often
//   runs.archive, runs.prune  it is over and old
//
// Two stores keep this contract, PostgreSQL and memory; the conformance suite in `holdfast/testing` proves a third.

import type { Cleaned, CleanRound } from "./cleanup.js";
import type { DefinitionStore } from "./definition/definitions.js";
import type { EventStore } from "./event/events.js";
import type { InboxStore } from "./inbox/inbox.js";
import type { JournalStore } from "./journal/journal.js";
import type { LeaseStore } from "./lease/leases.js";
import type { BreakerStore } from "./limit/breakers.js";
import type { QueueStore } from "./limit/queues.js";
import type { MachineStore } from "./machine/machines.js";
import type { Attendance, Attendee } from "./node/attend.js";
import type { HouseReport, HouseRound, ReclaimRound } from "./node/house.js";
import type { NodeStore } from "./node/nodes.js";
import type { Reclaimed, RunStore } from "./run/runs.js";
import type { ScheduleStore } from "./schedule/schedules.js";
import type { TimeoutTable } from "./timeout/timeouts.js";

export interface Store {
  readonly runs: RunStore;
  readonly journal: JournalStore;
  readonly inbox: InboxStore;
  readonly leases: LeaseStore;
  readonly nodes: NodeStore;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
  readonly events: EventStore;
  readonly breakers: BreakerStore;
  readonly definitions: DefinitionStore;
  readonly timeouts: TimeoutTable;
  readonly machines: MachineStore;
  /** From now on until it leaves: hints, and presence where the store can see it. */
  attend(attendee: Attendee): Promise<Attendance>;
  /** A sign of life, who is missing, and what is to be done. Not repeated after a failure: the caller has a next round. */
  housekeep(round: HouseRound): Promise<HouseReport>;
  /** Takes back the claims of nodes that are gone and those whose lease is over, in the witness's env. Not repeated either. */
  reclaim(round: ReclaimRound): Promise<readonly Reclaimed[]>;
  /** Removes a batch of what nothing needs any more. Null: a node of the env has done this part lately. */
  cleanUp(round: CleanRound): Promise<Cleaned | null>;
  close(): Promise<void>;
}
