// Exports of `holdfast/dag`: tasks that depend on each other, the rules between them, and their errors.

export { ResultPruned } from "../kernel/codec/result-reference.js";
export { type DagInput, type DagOptions, type DagResult, dag } from "./dag.js";
export type { AnyDag, Dag } from "./dag-definition.js";
export { DagFailed, DagInvalid, EachFailed, TaskTimeout } from "./error.js";
export { type RegisteredTask, type Tasks, TaskUnknown } from "./named-task.js";
export type { Outcome } from "./outcome.js";
export type { PlannedTask } from "./plan-dag.js";
export {
  type AnyTask,
  type EachOptions,
  type EachWhenOptions,
  each,
  type Task,
  type TaskOptions,
  task,
} from "./task.js";
export type { TaskContext } from "./task-context.js";
export { allSucceeded, always, and, anySucceeded, noneFailed, not, or, type Rule } from "./when.js";
