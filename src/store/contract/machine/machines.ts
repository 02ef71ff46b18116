// Instances of state machines: a row each, the log of their events, and their timers. The store does not know what a state is: it
// stores a change that was computed from a sequence, if the instance is still at that sequence.
//
// The life of an instance, as operations:
//   machines.create       the row, event 1 with the input, the first timers and effects; also in a caller's transaction
//   machines.load         the row with its last snapshot, and the events after it
//   machines.append       events, timers set and cancelled, effects and snapshot, if the row is still at the expected sequence
//   machines.tell         an event from a caller's transaction or for later: a timer, due now or then
//   machines.claimTimers  a node claims timers that are due, for the duration of a lease; an append that names a timer fires it
//   machines.settleTimers  what could not be fired is tried later, given up, or dropped

import type { InstanceChanges } from "./changes.js";
import type { InstanceRecords } from "./instances.js";
import type { InstanceTimers } from "./timers.js";

export type {
  Append,
  AppendAnswer,
  Change,
  CreateAnswer,
  InstanceStatus,
  NewInstance,
  NewInstanceEvent,
  NewTimer,
  NewTold,
  TellAnswer,
  TimerKind,
} from "./changes.js";
export { INSTANCE_STATUSES } from "./changes.js";
export type { InstanceEvent, InstanceFilter, InstancePage, InstanceRecord, LoadedInstance } from "./instances.js";
export type { ClaimedTimers, TimerClaim, TimerRecord, TimerSettlement } from "./timers.js";

export interface MachineStore extends InstanceChanges, InstanceRecords, InstanceTimers {}
