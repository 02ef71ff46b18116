// A DAG: named tasks, each a run of its own, on any node. The DAG's own run starts them, waits and holds the result.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import { breakerRule, type CircuitBreaker } from "../kernel/breaker-rule.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import type { Duration } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { type FlowOptions, limitRules } from "../kernel/limit-rule.js";
import { programName, queueName, versionName } from "../kernel/name.js";
import type { ProgramEnvironment } from "../program/environment.js";
import type { InputOf, OutputOf, Schema } from "../program/schema.js";
import type { Trigger } from "../trigger/trigger.js";
import type { AnyDag, Dag } from "./dag-definition.js";
import { DagInvalid } from "./error.js";
import { planDag } from "./plan-dag.js";
import { runDag } from "./run-dag.js";
import { runEach } from "./run-each.js";
import { runTask, type TaskStart } from "./run-task.js";
import { drawnDag, shapeOf, toMermaid } from "./shape.js";
import {
  type AnyTask,
  type InOf,
  type NeedsOf,
  type OutOf,
  type SkipsOf,
  type TasksByName,
  timeoutMs,
} from "./task.js";

/** Options of `dag()`. */
export interface DagOptions<In = unknown> extends FlowOptions<In> {
  /** The queue of its own run; its tasks use `dag::task`. @default its name */
  readonly queue?: string;
  /** Pins new runs and their tasks to programs of this version. @default any version may execute them */
  readonly version?: string;
  /**
   * How long a run may take from its start; then the remaining tasks are cancelled, and it is `failed` with the code
   * TIMEOUT.
   */
  readonly timeout?: Duration;
  /** When a task has failed: `finish` the tasks that do not need it, or `cancel` the rest. @default finish */
  readonly onFailure?: "finish" | "cancel";
  /** After this many failures in a row, triggers start no run until a probe succeeds. */
  readonly circuitBreaker?: CircuitBreaker;
}

type Meet<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer All) => void ? All : never;
/** The intersection of all tasks' inputs. Tasks without an input accept any. */
type Taken<T extends TasksByName> = {
  // biome-ignore lint/suspicious/noConfusingVoidType: what a function without a second parameter takes
  [K in keyof T]: unknown extends InOf<T[K]> ? never : [InOf<T[K]>] extends [void] ? never : InOf<T[K]>;
}[keyof T];
/** What a DAG of these tasks is started with: the inputs of all tasks together. */
// biome-ignore lint/suspicious/noConfusingVoidType: then it is started without input
export type DagInput<T extends TasksByName> = [Taken<T>] extends [never] ? void : Meet<Taken<T>>;
/** The result of each task; undefined if it may have been skipped. */
export type DagResult<T extends TasksByName, Names extends keyof T = keyof T> = {
  readonly [K in Names]: true extends SkipsOf<T[K]> ? OutOf<T[K]> | undefined : OutOf<T[K]>;
};
/** Every need of a task is in the DAG under that name; otherwise the error names what is missing. */
type Whole<T extends TasksByName> = {
  readonly [K in keyof T]: [NeedsOf<T[K]>] extends [keyof T]
    ? T[K]
    : `needs ${Exclude<NeedsOf<T[K]>, keyof T> & string}, which is not in this DAG`;
};

/**
 * Defines a DAG of named tasks. Each task is a run of its own, on any node, and begins when what it needs has ended.
 *
 * @example
 * ```ts
 * const etl = dag("etl", { extract, lengths, audit, report });
 *
 * await using node = await createNode({ store: memoryStore(), programs: [etl] });
 * const run = await node.start(etl, { day: "2026-01-01" });
 * ```
 */
export function dag<const Name extends string, T extends TasksByName>(
  name: Name,
  tasks: T & Whole<T>,
): Dag<Name, DagInput<T>, DagResult<T>>;
export function dag<
  const Name extends string,
  T extends TasksByName,
  // biome-ignore lint/suspicious/noExplicitAny: what the schema takes is its own affair
  Takes extends Schema<any, DagInput<T>> = Schema<DagInput<T>, DagInput<T>>,
  const Names extends keyof T & string = keyof T & string,
>(
  name: Name,
  options: DagOptions<DagInput<NoInfer<T>>> & {
    readonly input?: Takes;
    readonly on?: readonly Trigger<DagInput<NoInfer<T>>>[];
    /** The tasks whose results form the result. @default all */
    readonly result?: readonly Names[];
  },
  tasks: T & Whole<T>,
): Dag<Name, InputOf<Takes>, DagResult<T, Names>, OutputOf<Takes>>;
export function dag(name: string, ...rest: [TasksByName] | [AllOptions, TasksByName]): AnyDag {
  const [options, tasks]: [AllOptions, TasksByName] = rest.length === 1 ? [{}, rest[0]] : rest;
  programName(name, "DAG name");
  checkOptions(name, options);
  const shape = shapeOf(name, tasks);
  for (const task of shape.order) programName(`${name}::${task}`, `task ${JSON.stringify(task)}`);
  const { result = null, onFailure = "finish", timeout, version } = options;
  if (onFailure !== "finish" && onFailure !== "cancel")
    throw new InvalidInput("onFailure", 'must be "finish" or "cancel"');
  for (const task of result ?? []) {
    if (!Object.hasOwn(tasks, task))
      throw new DagInvalid(name, `its result names ${JSON.stringify(task)}, which is not one of its tasks.`);
  }
  const made: AnyDag = {
    kind: "dag",
    name,
    ...shape,
    tasks,
    result,
    onFailure,
    queue: queueName(options.queue ?? name, "queue"),
    version: version === undefined ? null : versionName(version, "version"),
    timeoutMs: timeout === undefined ? null : timeoutMs(timeout),
    schema: options.input ?? null,
    triggers: (options.on ?? []).map(({ spec }) => spec),
    limits: limitRules(options),
    breaker: options.circuitBreaker === undefined ? null : breakerRule(options.circuitBreaker),
    toMermaid: () => toMermaid(tasks),
    shape: () => drawnDag(shape.order, tasks),
    plan: (input: unknown) => planDag(name, tasks, shape, input),
    serve: (environment) => programsOf(made, environment),
  };
  return made;
}

type AllOptions = DagOptions & {
  readonly input?: Schema;
  readonly on?: readonly Trigger<unknown>[];
  readonly result?: readonly string[];
};

const OPTIONS: readonly (keyof AllOptions)[] = [
  ...(["queue", "version", "timeout", "onFailure", "circuitBreaker", "input", "on", "result"] as const),
  ...(["concurrency", "rate", "serial"] as const),
];

function checkOptions(name: string, options: object): void {
  if (typeof options !== "object" || options === null) throw new DagInvalid(name, "its options must be an object.");
  for (const option of Object.keys(options)) {
    if (!(OPTIONS as readonly string[]).includes(option))
      throw new InvalidInput(option, `is not an option of a DAG; the options are ${OPTIONS.join(", ")}`);
  }
}

/** The DAG's own run and each of its tasks: claimed independently, by any node that serves their queues. */
function programsOf(dag: AnyDag, environment: ProgramEnvironment): readonly Program[] {
  const { kind, name, version, queue, limits, breaker, tasks } = dag;
  const execute = (session: Session) => runDag(dag, environment, session);
  const own = { kind, name, version, queue, limits, breaker, execute };
  return [own, ...dag.order.map((task) => taskProgram(dag, task, environment, tasks[task]!))];
}

function taskProgram(
  { name: dag, version }: AnyDag,
  task: string,
  environment: ProgramEnvironment,
  made: AnyTask,
): Program {
  const name = `${dag}::${task}`;
  const program = { name, version, queue: made.queue ?? name };
  const execute = async (session: Session) => {
    const item = made.each === null || isItem(environment.codecs, session.run.input);
    if (item) await runTask(task, made, environment, session);
    else await runEach(task, { ...program, task: made }, environment, session);
  };
  return { ...program, kind: "task", limits: made.limits, breaker: null, execute };
}

/** The fan-out and its items share one program name; the input distinguishes them. */
function isItem(codecs: Codecs, input: Payload): boolean {
  return (codecs.decode(input) as TaskStart).index !== undefined;
}
