// A workflow: an async function whose context records its calls, so that it can resume on any node.

import { breakerRule, type CircuitBreaker } from "../kernel/breaker-rule.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { type FlowOptions, limitRules } from "../kernel/limit-rule.js";
import { programName, queueName, stackName, versionName } from "../kernel/name.js";
import { type Recovery, recoveryOf } from "../kernel/run/recovery.js";
import type { InputOf, OutputOf, Schema } from "../program/schema.js";
import type { InputOfTriggers, Trigger } from "../trigger/trigger.js";
import type { Context, Workflow, WorkflowFunction } from "./context.js";
import { workflowProgram } from "./execute.js";

/** Options of a workflow: its queue, limits, timeout and recovery. */
export interface WorkflowOptions<In = unknown> extends FlowOptions<In> {
  /** The queue of its runs. @default its name */
  readonly queue?: string;
  /** Pins new runs to programs of this version. @default any version may execute them */
  readonly version?: string;
  /** How long a run may take from its start, waits included; then it cleans up and is `failed` with the code TIMEOUT. */
  readonly timeout?: Duration;
  /** How long a run may clean up after a cancel or its timeout; then it ends at once. @default 1 min */
  readonly cleanupTimeout?: Duration;
  /** After this many failures in a row, triggers start no run until a probe succeeds. `start` is not affected. */
  readonly circuitBreaker?: CircuitBreaker;
  /** What happens to a run when the process that worked on it died. @default resume */
  readonly recovery?: Recovery;
  /** Served only by nodes of these stacks. @default by any */
  readonly stacks?: readonly string[];
}

type AllOptions<In> = WorkflowOptions<In> & {
  readonly input?: Schema<In>;
  readonly on?: readonly Trigger<In>[];
};

// biome-ignore lint/suspicious/noExplicitAny: any function of a workflow, whatever it takes and returns
type AnyRun = (ctx: Context, input: any) => Promise<any>;
// biome-ignore lint/suspicious/noExplicitAny: only its input is asked for
type InputOfRun<Run extends AnyRun, None = void> = Run extends (ctx: any, ...rest: infer Rest) => unknown
  ? Rest extends []
    ? None
    : Rest[0]
  : never;

/**
 * Defines a workflow: an async function whose context records each call, so that another node continues it after a
 * crash.
 *
 * @example
 * ```ts
 * export const order = workflow("order", async (ctx, input: { id: string; cents: number }) => {
 *   const receipt = await ctx.step("charge", async ({ idempotencyKey }) => charge(input, idempotencyKey));
 *   await ctx.step("pack", () => work(`pack ${input.id}`));
 *   const answer = await ctx.approval("ship", { ask: `Ship ${input.id}?`, to: "warehouse", timeout: "2d" });
 *   if (answer.outcome !== "approved") return { receipt, shipped: false };
 *   await ctx.sleep("cool off", "300ms");
 *   await ctx.step("ship", () => work(`ship ${input.id}`));
 *   return { receipt, shipped: true };
 * });
 * ```
 */
export function workflow<const Name extends string, In = void, Out = void>(
  name: Name,
  run: WorkflowFunction<In, Out>,
): Workflow<Name, In, Out>;
export function workflow<const Name extends string, Takes extends Schema, Out = void>(
  name: Name,
  options: WorkflowOptions<OutputOf<Takes>> & { readonly input: Takes },
  run: WorkflowFunction<OutputOf<Takes>, Out>,
): Workflow<Name, InputOf<Takes>, Out, OutputOf<Takes>>;
/** With several triggers, the input is a union: distinguish by `type`. */
export function workflow<
  const Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: whatever each trigger brings
  const Triggers extends readonly Trigger<any>[],
  Out = void,
>(
  name: Name,
  options: WorkflowOptions<InputOfTriggers<Triggers>> & { readonly on: Triggers },
  run: WorkflowFunction<InputOfTriggers<Triggers>, Out>,
): Workflow<Name, InputOfTriggers<Triggers>, Out>;
// Infers the whole function: inferring its input alone makes TypeScript check event paths before it has seen the function.
/** With options. */
export function workflow<const Name extends string, Run extends AnyRun>(
  name: Name,
  options: WorkflowOptions<InputOfRun<Run>>,
  run: Run,
): Workflow<Name, InputOfRun<Run>, Awaited<ReturnType<Run>>>;
export function workflow<const Name extends string, In, Out>(
  name: Name,
  ...rest: [WorkflowFunction<In, Out>] | [AllOptions<In>, WorkflowFunction<In, Out>]
): Workflow<Name, In, Out> {
  const [options, run]: [AllOptions<In>, WorkflowFunction<In, Out>] = rest.length === 1 ? [{}, rest[0]] : rest;
  programName(name, "workflow name");
  const made: Workflow<Name, In, Out> = {
    kind: "workflow",
    name,
    queue: queueName(options.queue ?? name, "queue"),
    version: options.version === undefined ? null : versionName(options.version, "version"),
    timeoutMs: options.timeout === undefined ? null : toMs(options.timeout, "timeout"),
    cleanupMs: toMs(options.cleanupTimeout ?? "1m", "cleanupTimeout"),
    schema: options.input ?? null,
    triggers: (options.on ?? []).map(({ spec }) => spec),
    limits: limitRules(options),
    breaker: options.circuitBreaker === undefined ? null : breakerRule(options.circuitBreaker),
    recovery: recoveryOf(options.recovery),
    ...(options.stacks && { stacks: options.stacks.map((stack) => stackName(stack, "stacks")) }),
    run,
    serve: (environment) => [workflowProgram(made, environment)],
  };
  return made;
}
