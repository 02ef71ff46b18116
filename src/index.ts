// Exports of `holdfast`: nodes, clients, workflows, triggers, and the errors that most programs handle.
// Each other program kind, leases, timeouts, stores and test tools have a subpath of their own: `holdfast/dag`, `holdfast/lease` …

export type { CancelOutcome, Paused, Requested } from "./client/ask-to-stop.js";
export type { Backfill, BackfillOptions, BackfillProgress } from "./client/backfill.js";
export { type Client, type ClientOptions, createClient } from "./client/create-client.js";
export type {
  DeadFilter,
  DeadLetter,
  DeadLetters,
  RetryOptions,
} from "./client/dead-letters.js";
export {
  DefinitionConflict,
  type DefinitionInfo,
  DefinitionInUse,
  type Definitions,
  DefinitionUnavailable,
  type SaveOptions,
} from "./client/definitions.js";
export { DecisionStale, GateClosed } from "./client/expect-asked.js";
export type { FieldDiff, RunDiff, StepDiff } from "./client/graph/diff-histories.js";
export type { Visit } from "./client/graph/graph-history.js";
export type { ForkOptions, GraphPosition, RewindOptions } from "./client/graph/graph-run-options.js";
export { type GraphRuns, RewindRefused } from "./client/graph/graph-runs.js";
export type { InstanceInfo, Instances, ListInstances, SendItem, SendOutcome } from "./client/machines.js";
export {
  type DrainOptions,
  type ModeOptions,
  NodeAmbiguous,
  type Nodes,
  NodeUnknown,
  type ProgramRef,
} from "./client/nodes.js";
export type { Queues } from "./client/queues.js";
export type { EndedFilter, RemovalOptions, RetentionVerbs } from "./client/retention.js";
export type { RunEvent } from "./client/run-event.js";
export {
  DecisionConflict,
  type DecisionOptions,
  ResultTimeout,
  type RetryRunOptions,
  RunCancelled,
  RunEnded,
  RunFailed,
  type RunHandle,
  type RunStatus,
  RunUnknown,
  type SendOptions,
  type SignalOptions,
} from "./client/run-handle.js";
export type { TaskState, TaskStatus } from "./client/run-tasks.js";
export { KeyConflict, type StartItem, type StartOptions, type StartOutcome } from "./client/runs.js";
export { ScheduleAmbiguous, type ScheduleInfo, type Schedules, ScheduleUnknown } from "./client/schedules.js";
export type { WatchOptions } from "./client/watch-run.js";
export type { RoutingOptions, Served, ServeRule } from "./engine/claiming/routing.js";
export type { EngineEvents } from "./engine/events.js";
export { NodeDisabled } from "./engine/modes.js";
export { NodeStopping } from "./engine/node-stopping.js";
export { NodeReplaced, NotAlone } from "./engine/upkeep/register-node.js";
export type { CircuitBreaker } from "./kernel/breaker-rule.js";
export { type Codec, PayloadCorrupt } from "./kernel/codec/codec.js";
export { type Codecs, UnknownCodec } from "./kernel/codec/codecs.js";
export { jsonCodec } from "./kernel/codec/json-codec.js";
export { RecordedError } from "./kernel/codec/recorded-error.js";
export type { Duration } from "./kernel/duration.js";
export { HoldfastError, InvalidInput, LimitExceeded } from "./kernel/error.js";
export type { ScalarPath } from "./kernel/input-path.js";
export type { KeyedLimit, LimitRule, RateLimit } from "./kernel/limit-rule.js";
export type { Logger } from "./kernel/logger.js";
export type { Drain, ModeState, NodeMode } from "./kernel/node-mode.js";
export type { Per } from "./kernel/per.js";
export { ClaimLost } from "./kernel/run/claim.js";
export type { Overflow } from "./kernel/run/new-run.js";
export type { Recovery } from "./kernel/run/recovery.js";
export { RUN_STATES, type RunState } from "./kernel/run/run-state.js";
export type { RetentionOptions } from "./kernel/setting/retention.js";
export { InvalidSettings } from "./kernel/setting/settings.js";
export { createNode, type Node } from "./node/create-node.js";
export type { ModeControl, ModeStatus } from "./node/mode-control.js";
export type { NodeEvents, NodeInfo } from "./node/node-events.js";
export type { NodeOptions } from "./node/node-options.js";
export type { ClaimsOption, WorkClaimEvents } from "./node/work-guard.js";
export type { AnyDefinition, Definition } from "./program/definition.js";
export type { RunOfServices, Services } from "./program/environment.js";
export { InputRefused } from "./program/parse-input.js";
export { DecisionInvalid } from "./replay/approval-call.js";
export { Cancelled, CompensationFailed } from "./replay/cancellation.js";
export { RaceLost } from "./replay/race.js";
export { RunTimeout } from "./replay/run-error.js";
export { type Signal, signal } from "./replay/signal.js";
export type { StepInfo } from "./replay/step-call.js";
export { PermanentError, StepInterrupted, StepTimeout } from "./replay/step-error.js";
export type { QueueRecord } from "./store/contract/limit/queues.js";
export type { NodeRecord } from "./store/contract/node/nodes.js";
export type { Deferral } from "./store/contract/run/runs.js";
export type { Store } from "./store/contract/store.js";
export type {
  StepTransactionClient,
  Transaction,
  TransactionQuery,
  TransactionResult,
} from "./store/contract/transaction.js";
export { type Bus, createBus, type Listener, type Telemetry, type Told } from "./telemetry/bus.js";
export type { CatchUp } from "./trigger/decide-fires.js";
export type { Emitted, EmittedRun } from "./trigger/emitted.js";
export type { EmitOptions } from "./trigger/emitter.js";
export { type EventType, event, type OnOptions, on } from "./trigger/event.js";
export { type CronOptions, cron, every, type ScheduleOptions } from "./trigger/schedule.js";
export { type Manual, manual, type Tick, type Trigger } from "./trigger/trigger.js";
export type { ScheduleEvents, TriggerEvents } from "./trigger/trigger-events.js";
export type {
  ApprovalOptions,
  ChildOptions,
  CompensationOptions,
  Context,
  Decision,
  Output,
  OutputOptions,
  StepOptions,
  TransactionOptions,
  Winner,
  Workflow,
} from "./workflow/context.js";
export { type WorkflowOptions, workflow } from "./workflow/workflow.js";
