// A task: a function, what it needs, and how it is retried. A DAG gives it its name.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { type KeyedLimit, type LimitRule, limitRules, type RateLimit } from "../kernel/limit-rule.js";
import { queueName } from "../kernel/name.js";
import { type Retry, type RetryPolicy, retryPolicy } from "../kernel/run/retry.js";
import type { Outcome } from "./outcome.js";
import type { TaskContext } from "./task-context.js";

/** Options of a task: retries, timeout, queue and limits. */
export interface TaskOptions {
  /** Its queue. @default `dag::task` */
  readonly queue?: string;
  /** Limit for each attempt; waiting in the queue does not count. @default none */
  readonly timeout?: Duration;
  /** Attempts in total, or a policy. @default 3, exponential from 1 s */
  readonly retry?: Retry;
  /** Which errors are worth another attempt. @default all but PermanentError */
  readonly retryIf?: (error: unknown) => boolean;
  /**
   * The result counts even if it arrives after `ctx.signal` was aborted.
   * @default it is dropped, and the task runs again
   */
  readonly finishOnAbort?: boolean;
  /**
   * After a timeout, the next attempt may begin while the function still works.
   * @default it begins when the function has ended, also when that ignores `ctx.signal`
   */
  readonly overlap?: boolean;
  /** How many of this task may run at once in the whole cluster: in all DAGs' runs, per value of a path into the DAG's input, or both. */
  readonly concurrency?: number | KeyedLimit | readonly (number | KeyedLimit)[];
  /** How many of this task may start per period, in the whole cluster. */
  readonly rate?: RateLimit | readonly RateLimit[];
  /** One of this task at a time for each value of this path into the DAG's input. */
  readonly serial?: string;
  /** Lower runs first. @default that of the DAG's run */
  readonly priority?: number;
}

/** `Needs`: the names of the tasks it needs. `Skips`: whether it may be skipped in a DAG that succeeds. */
export interface Task<Out, In = unknown, Needs extends string = string, Skips extends boolean = boolean> {
  /** A single task, or one run per item. */
  readonly kind: "task" | "each";
  /** The tasks it needs, by name. */
  readonly needs: TasksByName;
  /** Its rule; null: all needs must have succeeded. */
  readonly when: ((outcomes: never, input: never) => boolean) | null;
  /** It was defined without needs, not even an empty list: its function receives the DAG's input instead. */
  readonly takesInput: boolean;
  /** Its queue; null: `dag::task`. */
  readonly queue: string | null;
  /** The limit of each attempt; null: none. */
  readonly timeoutMs: number | null;
  /** How it is retried. */
  readonly policy: RetryPolicy;
  /** Which errors are worth another attempt; null: all but PermanentError. */
  readonly retryIf: ((error: unknown) => boolean) | null;
  /** Whether a result counts that arrives after an abort. */
  readonly finishOnAbort: boolean;
  /** Whether attempts may overlap after a timeout. */
  readonly overlap: boolean;
  /** Its limits on concurrency and rate. */
  readonly limits: readonly LimitRule[];
  /** Null: that of the DAG's run. */
  readonly priority: number | null;
  /** Its function. */
  readonly run: (ctx: TaskContext, ...given: never[]) => unknown;
  /** Of a fan-out: its items, and how many run at once. */
  readonly each: { readonly over: (needs: never, input: never) => unknown; readonly parallel: number | null } | null;
  /** Carries the types only. */
  readonly "~types"?: {
    readonly out: Out;
    readonly in: (input: In) => void;
    readonly needs: Needs;
    readonly skips: Skips;
  };
}

/** A task with any input, needs and result. */
// biome-ignore lint/suspicious/noExplicitAny: any task, whatever it takes and answers
export type AnyTask = Task<any, any, any, any>;
export type TasksByName = Readonly<Record<string, AnyTask>>;

type TypesOf<T> = T extends { readonly "~types"?: infer Types } ? NonNullable<Types> : never;
export type OutOf<T> = TypesOf<T> extends { readonly out: infer Out } ? Out : never;
export type InOf<T> = TypesOf<T> extends { readonly in: (input: infer In) => void } ? In : never;
export type NeedsOf<T> = TypesOf<T> extends { readonly needs: infer Needs } ? Needs : never;
export type SkipsOf<T> = TypesOf<T> extends { readonly skips: infer Skips } ? Skips : never;

export type Values<N extends TasksByName> = { readonly [K in keyof N]: OutOf<N[K]> };
export type Outcomes<N extends TasksByName> = { readonly [K in keyof N]: Outcome<OutOf<N[K]>> };
/** Without a rule of its own, a task may be skipped when one of its needs may be. */
type SkipsWith<N extends TasksByName> = true extends SkipsOf<N[keyof N]> ? true : false;
type Names<N extends TasksByName> = keyof N & string;

type NoTasks = Readonly<Record<never, AnyTask>>;

/** Options of a task that takes the DAG's input. */
interface NoNeeds extends TaskOptions {
  /** None: with needs it is another overload. */
  readonly needs?: undefined;
  /** None: with a rule it is another overload. */
  readonly when?: undefined;
}

/**
 * Defines a task of a DAG. Without needs, its function takes the DAG's input.
 *
 * @example
 * ```ts
 * const extract = task(async (_ctx, { day }: Day) => [`${day} one`, `${day} two`, `${day} three`]);
 * ```
 */
export function task<Out, In = void>(
  run: (ctx: TaskContext<In>, input: In) => Out | Promise<Out>,
): Task<Out, In, never, false>;
/** With a rule, needs arrive as outcomes: any of them may have failed or been skipped. */
export function task<N extends TasksByName, Out, In = unknown>(
  options: TaskOptions & { readonly needs: N; readonly when: (outcomes: Outcomes<NoInfer<N>>, input: In) => boolean },
  run: (ctx: TaskContext<In>, needs: Outcomes<N>) => Out | Promise<Out>,
): Task<Out, In, Names<N>, true>;
/** Runs when all its needs have succeeded; otherwise it is skipped. */
export function task<N extends TasksByName, Out, In = unknown>(
  options: TaskOptions & { readonly needs: N; readonly when?: undefined },
  run: (ctx: TaskContext<In>, needs: Values<N>) => Out | Promise<Out>,
): Task<Out, In, Names<N>, SkipsWith<N>>;
/** Runs when its rule says so, over the DAG's input. */
export function task<Out, In = void>(
  options: Omit<NoNeeds, "when"> & { readonly when: (outcomes: Outcomes<NoTasks>, input: In) => boolean },
  run: (ctx: TaskContext<In>, input: In) => Out | Promise<Out>,
): Task<Out, In, never, true>;
export function task<Out, In = void>(
  options: NoNeeds,
  run: (ctx: TaskContext<In>, input: In) => Out | Promise<Out>,
): Task<Out, In, never, false>;
export function task(...rest: unknown[]): AnyTask {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  return made("task", options as AllOptions, run, null);
}

/** Options of `each()`. */
export interface EachOptions<N extends TasksByName, In, Item> extends TaskOptions {
  /** Tasks whose results `over` gets, by name. */
  readonly needs?: N;
  /** The items, from its needs and the DAG's input. Must return the same list each time. */
  readonly over: (needs: Values<N>, input: In) => readonly Item[];
  /** Items of this fan-out that run at once, on all nodes together. @default no limit */
  readonly parallel?: number;
  /** A rule makes it another overload: see `EachWhenOptions`. */
  readonly when?: undefined;
}

/** With a rule, `over` gets the needs as outcomes. */
export interface EachWhenOptions<N extends TasksByName, In, Item>
  extends Omit<EachOptions<N, In, Item>, "over" | "when"> {
  /** The items, from the outcomes of its needs and the DAG's input. Must return the same list each time. */
  readonly over: (needs: Outcomes<N>, input: In) => readonly Item[];
  /** Whether it runs, by the outcomes of its needs. */
  readonly when: (outcomes: Outcomes<NoInfer<N>>, input: In) => boolean;
}

/**
 * Runs once for each item of a list, each time as a run of its own, and returns the results in the order of the list.
 *
 * @example
 * ```ts
 * const lengths = each(
 *   { needs: { extract }, over: ({ extract }) => extract, parallel: 2, retry: 5 },
 *   async (_ctx, row: string) => row.length,
 * );
 * ```
 */
// biome-ignore lint/complexity/noBannedTypes: without needs there are none
export function each<Item, Out, N extends TasksByName = {}, In = unknown>(
  options: EachOptions<N, In, Item>,
  run: (ctx: TaskContext<In>, item: Item, index: number) => Out | Promise<Out>,
): Task<Out[], In, Names<N>, SkipsWith<N>>;
// biome-ignore lint/complexity/noBannedTypes: without needs there are none
export function each<Item, Out, N extends TasksByName = {}, In = unknown>(
  options: EachWhenOptions<N, In, Item>,
  run: (ctx: TaskContext<In>, item: Item, index: number) => Out | Promise<Out>,
): Task<Out[], In, Names<N>, true>;
export function each(options: object, run: unknown): AnyTask {
  const { over, parallel = null } = options as { over?: unknown; parallel?: number | null };
  if (typeof over !== "function") throw new InvalidInput("over", "must be a function that returns the items");
  if (parallel !== null && (!Number.isInteger(parallel) || parallel < 1)) {
    throw new InvalidInput("parallel", `must be a whole number of at least 1; it is ${String(parallel)}`);
  }
  return made("each", options as AllOptions, run, { over: over as never, parallel });
}

interface AllOptions extends TaskOptions {
  readonly needs?: TasksByName;
  readonly when?: AnyTask["when"] & { readonly needs?: readonly string[] };
}

const WORK: readonly string[] = ["needs", "when", "queue", "timeout", "retry", "retryIf", "finishOnAbort", "overlap"];
const FLOW: readonly string[] = ["concurrency", "rate", "serial", "priority"];
const OPTIONS = { task: [...WORK, ...FLOW], each: [...WORK, ...FLOW, "over", "parallel"] } as const;

/** A timeout of zero would leave no time at all. */
export function timeoutMs(timeout: Duration): number {
  const ms = toMs(timeout, "timeout");
  if (ms === 0) throw new InvalidInput("timeout", "must be more than 0; omit it for none");
  return ms;
}

function made(kind: AnyTask["kind"], options: AllOptions, run: unknown, each: AnyTask["each"]): AnyTask {
  if (typeof options !== "object" || options === null) throw new InvalidInput(kind, "options must be an object");
  for (const name of Object.keys(options)) {
    if (!OPTIONS[kind].includes(name))
      throw new InvalidInput(`${kind}.${name}`, `is not an option; the options are ${OPTIONS[kind].join(", ")}`);
  }
  if (typeof run !== "function") throw new InvalidInput(kind, "the last argument must be a function");
  const { needs = {}, when = null, queue, timeout, retry, retryIf = null, finishOnAbort = false } = options;
  const { overlap = false, priority = null } = options;
  if (typeof needs !== "object" || needs === null || Array.isArray(needs))
    throw new InvalidInput("needs", "must be an object of tasks by their names, like { extract }");
  if (when !== null && typeof when !== "function") throw new InvalidInput("when", "must be a function of the outcomes");
  for (const name of when?.needs ?? []) {
    if (!Object.hasOwn(needs, name))
      throw new InvalidInput("when", `names ${JSON.stringify(name)}, which is not among its needs`);
  }
  if (priority !== null && !Number.isInteger(priority)) throw new InvalidInput("priority", "must be a whole number");
  return {
    kind,
    needs,
    when,
    takesInput: options.needs === undefined,
    queue: queue === undefined ? null : queueName(queue, "queue"),
    timeoutMs: timeout === undefined ? null : timeoutMs(timeout),
    policy: retryPolicy(retry, "retry"),
    retryIf,
    finishOnAbort,
    overlap,
    limits: limitRules(options),
    priority,
    run: run as AnyTask["run"],
    each,
  };
}
