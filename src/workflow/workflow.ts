// A workflow: an async function with a context whose calls are recorded, so that it goes on where it was.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Duration, toMs } from "../kernel/duration.js";
import { programName, queueName, versionName } from "../kernel/name.js";
import type { Workflow, WorkflowFunction } from "./context.js";

export interface WorkflowOptions {
  /** Where its runs wait. Default: its name. */
  readonly queue?: string;
  /** Pins new runs to programs of this version. Default: any version may go on with them. */
  readonly version?: string;
  /** How long a run may take from its start, waits included; then it is `failed` with the code TIMEOUT. */
  readonly timeout?: Duration;
}

export function workflow<const Name extends string, In = void, Out = void>(
  name: Name,
  run: WorkflowFunction<In, Out>,
): Workflow<Name, In, Out>;
export function workflow<const Name extends string, Schema extends StandardSchemaV1, Out = void>(
  name: Name,
  options: WorkflowOptions & { readonly input: Schema },
  run: WorkflowFunction<StandardSchemaV1.InferOutput<Schema>, Out>,
): Workflow<Name, StandardSchemaV1.InferInput<Schema>, Out, StandardSchemaV1.InferOutput<Schema>>;
export function workflow<const Name extends string, In = void, Out = void>(
  name: Name,
  options: WorkflowOptions,
  run: WorkflowFunction<In, Out>,
): Workflow<Name, In, Out>;
export function workflow<const Name extends string, In, Out>(
  name: Name,
  ...rest: [WorkflowFunction<In, Out>] | [WorkflowOptions & { input?: StandardSchemaV1<In> }, WorkflowFunction<In, Out>]
): Workflow<Name, In, Out> {
  const [options, run]: [WorkflowOptions & { input?: StandardSchemaV1<In> }, WorkflowFunction<In, Out>] =
    rest.length === 1 ? [{}, rest[0]] : rest;
  programName(name, "workflow name");
  return {
    kind: "workflow",
    name,
    queue: queueName(options.queue ?? name, "queue"),
    version: options.version === undefined ? null : versionName(options.version, "version"),
    timeoutMs: options.timeout === undefined ? null : toMs(options.timeout, "timeout"),
    schema: options.input ?? null,
    run,
  };
}
