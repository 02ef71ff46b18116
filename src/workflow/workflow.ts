// A workflow: an async function with a context whose calls are recorded, so that it goes on where it was.

import { programName, queueName, versionName } from "../kernel/name.js";
import type { Context } from "./context.js";

export interface WorkflowOptions {
  /** Where its runs wait. Default: its name. */
  readonly queue?: string;
  /** Pins new runs to programs of this version. Default: any version may go on with them. */
  readonly version?: string;
}

export type WorkflowFunction<In, Out> = (ctx: Context, input: In) => Promise<Out>;

export interface Workflow<Name extends string, In, Out> {
  readonly kind: "workflow";
  readonly name: Name;
  readonly queue: string;
  readonly version: string | null;
  readonly run: WorkflowFunction<In, Out>;
}

// biome-ignore lint/suspicious/noExplicitAny: any workflow, whatever it takes and returns
export type AnyWorkflow = Workflow<string, any, any>;

export function workflow<const Name extends string, In = void, Out = void>(
  name: Name,
  run: WorkflowFunction<In, Out>,
): Workflow<Name, In, Out>;
export function workflow<const Name extends string, In = void, Out = void>(
  name: Name,
  options: WorkflowOptions,
  run: WorkflowFunction<In, Out>,
): Workflow<Name, In, Out>;
export function workflow<const Name extends string, In, Out>(
  name: Name,
  ...rest: [WorkflowFunction<In, Out>] | [WorkflowOptions, WorkflowFunction<In, Out>]
): Workflow<Name, In, Out> {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  programName(name, "workflow name");
  return {
    kind: "workflow",
    name,
    queue: queueName(options.queue ?? name, "queue"),
    version: options.version === undefined ? null : versionName(options.version, "version"),
    run,
  };
}
