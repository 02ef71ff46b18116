// Exports of `holdfast/graph`: graphs over a shared state, their reducers and limits, and their errors.

export type { NodeOptions as GraphNodeOptions } from "./attempt-rules.js";
export { GraphInvalid } from "./check-plan.js";
export { type Edge, type GraphLimits, graph } from "./graph.js";
export type { Graph } from "./graph-value.js";
export { BudgetExceeded, EdgeNotTaken, IterationLimit } from "./limits.js";
export { GraphChanged, PlanChanged, PositionUnknown, StateFailed } from "./needs-people.js";
export type { ItemContext, NodeContext } from "./node-context.js";
export type { NodeFunction } from "./plan.js";
export { append, merge, type Reducer, replace } from "./reducer.js";
export { type State, state } from "./state.js";
