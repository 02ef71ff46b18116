// `holdfast/machine`: state machines with durable timers. Needs XState, version 5.

export type { EffectInfo, EffectOptions, InstanceId, MachineDefinition, Snapshot } from "./definition.js";
export { InstanceNotDone } from "./effect-program.js";
export {
  InstanceBusy,
  InstanceConflict,
  InstanceEnded,
  InstanceQuarantined,
  InstanceUnknown,
  ReceiverUnknown,
  SequenceConflict,
  TransitionFailed,
  WaitTimeout,
} from "./errors.js";
export type { HistoryEntry } from "./history.js";
export type {
  Accepted,
  Instance,
  InstanceTimer,
  SendEventOptions,
  SendLaterOptions,
  Sent,
  StateOf,
} from "./instance.js";
export { type EffectFunction, type EffectsOf, instance, type MachineOptions, machine } from "./machine.js";
export type { MachineEvents } from "./machine-events.js";
export { ActionRefused } from "./refuse-definition.js";
