// Which executor of a node works on the runs of a queue: ordered rules, the first that fits decides.

import { InvalidInput, LimitExceeded } from "../../kernel/error.js";
import { executorName } from "../../kernel/name.js";
import { type QueuePattern, queuePattern } from "../../kernel/queue-pattern.js";
import type { Settings } from "../../kernel/setting/setting-options.js";

const DEFAULT_EXECUTOR = "default";
/** Each one asks the store for work on its own. */
const MOST_EXECUTORS = 32;
const MOST_RULES = 1_000;
const MOST_SLOTS = 10_000;

/** A pattern and who works on what fits it; a pattern alone means the executor `default`. */
export type ServeRule<Executor extends string = string> =
  | readonly [pattern: string, executor: Executor]
  | ("default" extends Executor ? string : never);

export interface RoutingOptions<Executor extends string = string> {
  /** How many runs each executor works on at a time. Default: one, `default`, with `concurrency`. */
  readonly executors?: Readonly<Record<Executor, number>>;
  /** Who works on which queues; what fits no rule is left to other nodes. Default: everything goes to `default`. */
  readonly serve?: readonly ServeRule<NoInfer<Executor>>[];
}

export interface Routing {
  /** The slots of each executor. */
  readonly executors: ReadonlyMap<string, number>;
  /** Null: this node does not work on that queue. */
  executorOf(queue: string): string | null;
}

/** One program of a node; null: no rule of its serves that queue, and others have to. */
export interface Served {
  readonly program: string;
  readonly queue: string;
  readonly version: string | null;
  readonly executor: string | null;
}

interface Rule {
  readonly pattern: QueuePattern;
  readonly executor: string;
}

/** \`asked\`: the concurrency that was written; it is for the one executor there is when none is named. */
export function routingOf(
  { executors, serve }: RoutingOptions,
  { concurrency, prefetch }: Pick<Settings, "concurrency" | "prefetch">,
  asked?: number,
): Routing {
  const slots = executors === undefined ? new Map([[DEFAULT_EXECUTOR, concurrency]]) : slotsOf(executors);
  if (executors !== undefined && asked !== undefined) {
    throw new InvalidInput("concurrency", "each executor says how many runs it works on; leave concurrency out");
  }
  const small = [...slots].find(([, count]) => count < prefetch);
  if (small) {
    const problem = `it is ${prefetch}, and the executor ${small[0]} works on ${small[1]} at a time; an executor may hold back at most as many runs as it works on`;
    throw new InvalidInput("prefetch", problem);
  }
  const rules = rulesOf(serve, slots);
  return {
    executors: slots,
    executorOf: (queue) => rules.find(({ pattern }) => pattern.matches(queue))?.executor ?? null,
  };
}

/** What can work but was hardly meant. */
export function routingWarnings(programs: readonly Served[], executors: readonly string[]): string[] {
  const unserved = programs.flatMap(({ program, queue, executor }) => {
    if (executor !== null) return [];
    const where = queue === program ? "" : ` (queue ${queue})`;
    return [`serve: no rule fits the program ${program}${where}: this node never works on it`];
  });
  const fed = new Set(programs.map(({ executor }) => executor));
  const idle = executors.filter((name) => !fed.has(name) && programs.length > 0);
  return [...unserved, ...idle.map((name) => `executors.${name}: no program of this node goes to it`)];
}

function slotsOf(executors: unknown): ReadonlyMap<string, number> {
  if (typeof executors !== "object" || executors === null || Array.isArray(executors)) {
    throw new InvalidInput("executors", "must be an object of names and slots, like { default: 8, gpu: 1 }");
  }
  const slots = new Map<string, number>();
  for (const [name, count] of Object.entries(executors)) {
    executorName(name, `executors.${name}`);
    if (!Number.isInteger(count) || count < 1 || count > MOST_SLOTS) {
      const problem = `the runs it works on at a time: a whole number from 1 to ${MOST_SLOTS}, not ${String(count)}`;
      throw new InvalidInput(`executors.${name}`, problem);
    }
    slots.set(name, count);
  }
  if (slots.size === 0) throw new InvalidInput("executors", "must name at least one, like { default: 8 }");
  if (slots.size > MOST_EXECUTORS) {
    throw new LimitExceeded("executors", "the number of executors", MOST_EXECUTORS, slots.size);
  }
  return slots;
}

function rulesOf(serve: unknown, slots: ReadonlyMap<string, number>): readonly Rule[] {
  if (serve === undefined) return [ruleOf("**", "serve", slots)];
  if (!Array.isArray(serve))
    throw new InvalidInput("serve", 'must be a list, like [["ml::*", "gpu"], ["**", "default"]]');
  if (serve.length > MOST_RULES) throw new LimitExceeded("serve", "the number of rules", MOST_RULES, serve.length);
  return serve.map((rule, i) => ruleOf(rule, `serve[${i}]`, slots));
}

function ruleOf(rule: unknown, path: string, slots: ReadonlyMap<string, number>): Rule {
  const [pattern, executor = DEFAULT_EXECUTOR, ...rest] = Array.isArray(rule) ? rule : [rule];
  if (rest.length > 0) throw new InvalidInput(path, "a rule is a pattern and an executor, and nothing else");
  if (typeof executor === "string" && slots.has(executor)) return { pattern: queuePattern(pattern, path), executor };
  const names = [...slots.keys()].join(", ");
  throw new InvalidInput(path, `there is no executor ${JSON.stringify(executor)}; the executors are ${names}`);
}
