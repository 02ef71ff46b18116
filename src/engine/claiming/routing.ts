// Assigns queues to the executors of a node: ordered rules, of which the first match decides.

import { InvalidInput, LimitExceeded } from "../../kernel/error.js";
import { executorName } from "../../kernel/name.js";
import { type QueuePattern, queuePattern } from "../../kernel/queue-pattern.js";
import type { Settings } from "../../kernel/setting/setting-options.js";

const DEFAULT_EXECUTOR = "default";
/** Each executor asks the store for work separately. */
const MOST_EXECUTORS = 32;
const MOST_RULES = 1_000;
const MOST_SLOTS = 10_000;

/** A pattern of queue names, and the executor for the queues that match. A pattern alone means the executor `default`. */
export type ServeRule<Executor extends string = string> =
  | readonly [pattern: string, executor: Executor]
  | ("default" extends Executor ? string : never);

/** Executors of a node, and the queues that each works on. */
export interface RoutingOptions<Executor extends string = string> {
  /** The slots of each executor: how many runs it works on at the same time. @default one executor `default` with `concurrency` slots */
  readonly executors?: Readonly<Record<Executor, number>>;
  /** Which executor works on which queues. Queues that match no rule are left to other nodes. @default all queues, on `default` */
  readonly serve?: readonly ServeRule<NoInfer<Executor>>[];
}

export interface Routing {
  /** The slots of each executor. */
  readonly executors: ReadonlyMap<string, number>;
  /** Null: this node does not work on the queue. */
  executorOf(queue: string): string | null;
}

/** A program of a node, and its executor. Null: no rule of this node matches its queue. */
export interface Served {
  /** The name of the program. */
  readonly program: string;
  /** The queue of its runs. */
  readonly queue: string;
  /** The version it is pinned to; null: none. */
  readonly version: string | null;
  /** The executor that works on it. */
  readonly executor: string | null;
}

interface Rule {
  readonly pattern: QueuePattern;
  readonly executor: string;
}

/** `asked`: the concurrency that was given; it sets the slots of the executor `default`, so it excludes `executors`. */
export function routingOf(
  { executors, serve }: RoutingOptions,
  { concurrency, prefetch }: Pick<Settings, "concurrency" | "prefetch">,
  asked?: number,
): Routing {
  const slots = executors === undefined ? new Map([[DEFAULT_EXECUTOR, concurrency]]) : slotsOf(executors);
  if (executors !== undefined && asked !== undefined) {
    throw new InvalidInput(
      "concurrency",
      "each executor has its own number of slots; omit concurrency or flow.executors",
    );
  }
  const small = [...slots].find(([, count]) => count < (prefetch ?? 0));
  if (small) {
    const problem = `it is ${prefetch}, and the executor ${small[0]} has ${small[1]} slots; an executor may claim ahead at most as many runs as it has slots`;
    throw new InvalidInput("flow.prefetch", problem);
  }
  const rules = rulesOf(serve, slots);
  return {
    executors: slots,
    executorOf: (queue) => rules.find(({ pattern }) => pattern.matches(queue))?.executor ?? null,
  };
}

/** Programs and executors that can never meet: allowed, but probably a mistake. */
export function routingWarnings(programs: readonly Served[], executors: readonly string[]): string[] {
  const unserved = programs.flatMap(({ program, queue, executor }) => {
    if (executor !== null) return [];
    const where = queue === program ? "" : ` (queue ${queue})`;
    const tasks = programs.some((one) => one.executor !== null && one.program.startsWith(`${program}::`));
    const begins = `, and the tasks it serves begin only where ${program} is served: add ${JSON.stringify(queue)} to flow.serve here or on another node`;
    return [
      `flow.serve: no rule matches the program ${program}${where}: this node never works on it${tasks ? begins : ""}`,
    ];
  });
  const fed = new Set(programs.map(({ executor }) => executor));
  const idle = executors.filter((name) => !fed.has(name) && programs.length > 0);
  return [...unserved, ...idle.map((name) => `flow.executors.${name}: no program of this node runs on it`)];
}

function slotsOf(executors: unknown): ReadonlyMap<string, number> {
  if (typeof executors !== "object" || executors === null || Array.isArray(executors)) {
    throw new InvalidInput("flow.executors", "must be an object of names and slots, like { default: 8, gpu: 1 }");
  }
  const slots = new Map<string, number>();
  for (const [name, count] of Object.entries(executors)) {
    executorName(name, `flow.executors.${name}`);
    if (!Number.isInteger(count) || count < 1 || count > MOST_SLOTS) {
      const problem = `the number of slots must be a whole number from 1 to ${MOST_SLOTS}; it is ${String(count)}`;
      throw new InvalidInput(`flow.executors.${name}`, problem);
    }
    slots.set(name, count);
  }
  if (slots.size === 0) throw new InvalidInput("flow.executors", "must name at least one, like { default: 8 }");
  if (slots.size > MOST_EXECUTORS) {
    throw new LimitExceeded("flow.executors", "the number of executors", MOST_EXECUTORS, slots.size);
  }
  return slots;
}

function rulesOf(serve: unknown, slots: ReadonlyMap<string, number>): readonly Rule[] {
  if (serve === undefined) return [ruleOf("**", "flow.serve", slots)];
  if (!Array.isArray(serve))
    throw new InvalidInput("flow.serve", 'must be a list, like [["ml::*", "gpu"], ["**", "default"]]');
  if (serve.length > MOST_RULES) throw new LimitExceeded("flow.serve", "the number of rules", MOST_RULES, serve.length);
  return serve.map((rule, i) => ruleOf(rule, `flow.serve[${i}]`, slots));
}

function ruleOf(rule: unknown, path: string, slots: ReadonlyMap<string, number>): Rule {
  const [pattern, executor = DEFAULT_EXECUTOR, ...rest] = Array.isArray(rule) ? rule : [rule];
  if (rest.length > 0) throw new InvalidInput(path, "a rule is a pattern and an executor");
  if (typeof executor === "string" && slots.has(executor)) return { pattern: queuePattern(pattern, path), executor };
  const names = [...slots.keys()].join(", ");
  throw new InvalidInput(path, `there is no executor ${JSON.stringify(executor)}; the executors are ${names}`);
}
