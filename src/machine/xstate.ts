// The one place that knows XState: an optional peer, so nothing that `holdfast` itself imports may lead here.

export {
  type ActorRefFrom,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type ContextFrom,
  createActor,
  createMachine,
  type EventFromLogic,
  type EventObject,
  type InputFrom,
  type OutputFrom,
  type StateMachine,
  type StateValueFrom,
} from "xstate";
