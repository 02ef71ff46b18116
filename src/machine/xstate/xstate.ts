// The only import of XState: an optional peer, so nothing that `holdfast` itself imports may lead here.

export {
  type ActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  createMachine,
  type EventObject,
  type MachineContext,
  matchesState,
  type ParameterizedObject,
  type StateMachine,
  type StateValue,
} from "xstate";
