// A DAG as data: parses the body of a definition, rejects unknown fields, and builds the DAG.
//
// Its runs are pinned to the version of the definition: a change does not affect runs that have begun.

import { dag } from "../dag/dag.js";
import type { AnyDag } from "../dag/dag-definition.js";
import { type RegisteredTask, type Tasks, taskNamed } from "../dag/named-task.js";
import { type AnyTask, each, type TasksByName, task } from "../dag/task.js";
import { allSucceeded, always, and, anySucceeded, noneFailed, not, or, type Rule } from "../dag/when.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { type Fields, fields, textField, textsField } from "../kernel/fields.js";
import { parsePath, valueAt } from "../kernel/input-path.js";
import { queueName } from "../kernel/name.js";
import { type Retry, retryPolicy } from "../kernel/run/retry.js";
import type { AnyDefinition } from "../program/definition.js";
import { triggersOf } from "../trigger/trigger-body.js";
import { episode, type OnEpisodeFailure } from "./episode-task.js";

const LIMITS = ["concurrency", "rate", "serial"];
const OF_DAG = ["tasks", "on", "queue", "timeout", "onFailure", "circuitBreaker", "result", ...LIMITS];
const HOW = ["queue", "timeout", "retry"];
const OF_TASK = ["task", "config", "needs", "when", ...HOW];
const OF_EACH = ["task", "config", "needs", "each", "parallel", ...HOW];
const OF_EPISODE = ["episode", "needs", "input", "onFailure", "queue"];
const OVER_NEEDS = { allSucceeded, anySucceeded, noneFailed };
const NAMES = ["always", ...Object.keys(OVER_NEEDS)];
const KINDS = [...Object.keys(OVER_NEEDS), "and", "or", "not"];
const ROOTS = ["input", "needs"];
const DEEPEST = 32;

export interface DagUse {
  readonly version: number;
  /** Null: task names are not checked. */
  readonly tasks: Tasks | null;
  /** By name; undefined: this node has no such expectation. Null: expectations are not checked. */
  readonly expectationOf: ((name: string) => AnyDefinition | undefined) | null;
}

/** Throws InvalidInput with the path of the problem, DagInvalid, or TaskUnknown. */
export function dagOf(name: string, body: unknown, use: DagUse): AnyDag {
  const { tasks, on, ...options } = fields("body", body, OF_DAG);
  const specs = Object.entries(fields("body.tasks", tasks));
  const made: Record<string, AnyTask> = Object.create(null);
  const needed = specs.map(([key, spec]) => {
    const needs = needsOf(`body.tasks.${key}`, spec);
    made[key] = taskOf(`body.tasks.${key}`, spec, needs, use);
    return needs;
  });
  // Tasks may be listed in any order and refer to each other, so needs are resolved when all are known.
  for (const needs of needed) for (const need of Object.keys(needs)) needs[need] = made[need];
  const given = { ...options, on: triggersOf("body.on", on), version: String(use.version) };
  return (dag as (...args: unknown[]) => AnyDag)(name, given, made);
}

type Needs = Record<string, AnyTask | undefined>;

function needsOf(path: string, spec: unknown): Needs {
  const { needs = [] } = fields(path, spec);
  const names: Needs = Object.create(null);
  for (const need of textsField(`${path}.needs`, needs, "names of tasks")) names[need] = undefined;
  return names;
}

/** Without needs, a task receives the DAG's input. */
function needing(needs: Needs): { readonly needs?: TasksByName } {
  return Object.keys(needs).length > 0 ? { needs: needs as TasksByName } : {};
}

function taskOf(path: string, spec: unknown, needs: Needs, use: DagUse): AnyTask {
  const given = fields(path, spec);
  if ("episode" in given) return episodeOf(path, fields(path, spec, OF_EPISODE), needs, use);
  if (!("task" in given)) throw new InvalidInput(path, "must have one of task, episode");
  if ("each" in given) return eachOf(path, fields(path, spec, OF_EACH), needs, use);
  const { task: named, config, needs: _, when, ...how } = fields(path, spec, OF_TASK);
  const run = namedRun(path, named, config, use);
  const rule = when === undefined ? {} : { when: ruleOf(`${path}.when`, when) };
  const options = { ...checkedHow(path, how), ...rule, ...needing(needs) };
  return (task as (...args: unknown[]) => AnyTask)(options, (ctx: never, input: unknown) => run(ctx, input));
}

function eachOf(path: string, spec: Fields, needs: Needs, use: DagUse): AnyTask {
  const { task: named, config, needs: _, each: list, parallel, ...how } = spec;
  const run = namedRun(path, named, config, use);
  const source = checkSource(`${path}.each`, list, Object.keys(needs));
  const over = (values: unknown, input: unknown) => valueAt({ needs: values, input }, source) as readonly unknown[];
  const options = { ...checkedHow(path, how), ...needing(needs), over };
  const most = parallel === undefined ? {} : { parallel: parallel as number };
  return each({ ...options, ...most }, (ctx, item) => run(ctx as never, item));
}

function episodeOf(path: string, spec: Fields, needs: Needs, { expectationOf }: DagUse): AnyTask {
  const { episode: program, input = { $: "input" }, onFailure, queue } = spec;
  const name = textField(`${path}.episode`, program, 'the name of an expectation, like "monitor::check"');
  const expectation = expectationOf ? expectationOf(name) : ({ name } as AnyDefinition);
  if (!expectation)
    throw new InvalidInput(
      `${path}.episode`,
      `${JSON.stringify(name)} is not an expectation of an actor that this node has`,
    );
  const names = Object.keys(needs);
  checkTemplate(`${path}.input`, input, names);
  const how = {
    ...needing(needs),
    ...(onFailure !== undefined && { onFailure: onFailure as OnEpisodeFailure }),
    ...(queue !== undefined && { queue: queueName(queue, `${path}.queue`) }),
  };
  return episode(expectation, {
    ...how,
    input: (values, dagInput) => fillTemplate(input, { needs: values, input: dagInput }),
  });
}

/** Each run gets its own copy of the configuration, so that changes by one do not affect the next. */
function namedRun(path: string, named: unknown, config: unknown = null, { tasks }: DagUse) {
  const name = textField(`${path}.task`, named, "the name of a task");
  const found: RegisteredTask = tasks ? taskNamed(name, tasks) : () => undefined;
  return (ctx: Parameters<RegisteredTask>[0], given: unknown) => found(ctx, given, structuredClone(config));
}

function checkedHow(path: string, how: Fields): Fields {
  const { queue, timeout, retry } = how;
  if (queue !== undefined) queueName(queue, `${path}.queue`);
  if (timeout !== undefined) toMs(timeout as Duration, `${path}.timeout`);
  if (retry !== undefined) retryPolicy(retry as Retry, `${path}.retry`);
  return how;
}

/** Rules as data: "always", { "anySucceeded": ["a", "b"] }, { "and": [ … ] }. */
function ruleOf(path: string, body: unknown): Rule {
  if (body === "always") return always;
  if (typeof body === "string" && isOverNeeds(body)) return OVER_NEEDS[body]();
  if (typeof body === "string") throw new InvalidInput(path, `must be one of ${NAMES.join(", ")}, or an object`);
  const given = fields(path, body, KINDS);
  const [kind, ...more] = Object.keys(given);
  if (kind === undefined || more.length > 0) throw new InvalidInput(path, `must have one of ${KINDS.join(", ")}`);
  const inside = `${path}.${kind}`;
  if (isOverNeeds(kind)) return OVER_NEEDS[kind](textsField(inside, given[kind], "needs")) as Rule;
  if (kind === "not") return not(ruleOf(inside, given[kind]));
  const rules = given[kind];
  if (!Array.isArray(rules)) throw new InvalidInput(inside, "must be a list of rules");
  return (kind === "and" ? and : or)(...rules.map((one, i) => ruleOf(`${inside}[${i}]`, one)));
}

function isOverNeeds(name: string): name is keyof typeof OVER_NEEDS {
  return Object.hasOwn(OVER_NEEDS, name);
}

/**
 * A value template, { "url": { "$": "needs.fetch.url" } }, is filled from the DAG's input and the results of the needs. Throws InvalidInput with the
 * path of a placeholder that nothing could fill.
 */
function checkTemplate(path: string, value: unknown, needs: readonly string[], depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > DEEPEST) throw new InvalidInput(path, `is deeper than ${DEEPEST}`);
  const gap = gapIn(value);
  if (gap !== undefined) return void checkSource(path, gap, needs);
  for (const [name, part] of Object.entries(value)) checkTemplate(`${path}.${name}`, part, needs, depth + 1);
}

/** `needs.fetch.url`, `input.resourceId`: where a value comes from. */
function checkSource(path: string, source: unknown, needs: readonly string[]): readonly string[] {
  const names = parsePath(source, path);
  const [root, need] = names;
  if (!ROOTS.includes(root!)) throw new InvalidInput(path, `must begin with ${ROOTS.join(" or ")}`);
  if (root === "needs" && need !== undefined && !needs.includes(need))
    throw new InvalidInput(path, `names ${JSON.stringify(need)}, which is not among its needs`);
  return names;
}

/** A missing value is undefined. */
function fillTemplate(value: unknown, sources: { readonly input: unknown; readonly needs: unknown }): unknown {
  if (typeof value !== "object" || value === null) return value;
  const gap = gapIn(value);
  if (gap !== undefined) return valueAt(sources, (gap as string).split("."));
  if (Array.isArray(value)) return value.map((part) => fillTemplate(part, sources));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, fillTemplate(part, sources)]));
}

function gapIn(value: object): unknown {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === "$" ? (value as { $: unknown }).$ : undefined;
}
