// The type of a DAG: what a node registers, and what its run and its tasks refer to.

import type { Definition } from "../program/definition.js";
import type { PlannedTask } from "./plan-dag.js";
import type { Shape } from "./shape.js";
import type { TasksByName } from "./task.js";

/** A DAG, as `dag()` makes it. Put it into `programs` of a node. */
export interface Dag<Name extends string, In, Out, Parsed = In> extends Definition<Name, In, Out, Parsed>, Shape {
  /** Distinguishes a DAG from other programs. */
  readonly kind: "dag";
  /** Its tasks, by name. */
  readonly tasks: TasksByName;
  /** How long a run may take; null: no limit. */
  readonly timeoutMs: number | null;
  /** What happens to the other tasks when one has failed. */
  readonly onFailure: "finish" | "cancel";
  /** The tasks whose results form the DAG's result; null: all. */
  readonly result: readonly string[] | null;
  /** As a flow chart for Markdown. */
  toMermaid(): string;
  /** What a run with this input would do, if everything that runs succeeds. */
  plan(input: In): readonly PlannedTask[];
}

/** A DAG of any name, input and result. */
// biome-ignore lint/suspicious/noExplicitAny: any DAG, whatever it takes and answers
export type AnyDag = Dag<string, any, any, any>;
