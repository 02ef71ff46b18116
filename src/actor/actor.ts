// An actor: a named set of expectations that share a limit. Each expectation is a program; its runs are episodes.

import { breakerRule } from "../kernel/breaker-rule.js";
import { InvalidInput } from "../kernel/error.js";
import { parsePath } from "../kernel/input-path.js";
import { type LimitRule, limitRules } from "../kernel/limit-rule.js";
import { programName, stackName, versionName } from "../kernel/name.js";
import type { Overflow } from "../kernel/run/new-run.js";
import { recoveryOf } from "../kernel/run/recovery.js";
import { retryPolicy } from "../kernel/run/retry.js";
import type { AnyDefinition, Definition } from "../program/definition.js";
import type { EventSpec, TriggerSpec } from "../trigger/trigger.js";
import { budgetOf } from "./budget.js";
import { type EpisodeParts, episodeProgram } from "./execute-episode.js";
import type { AnyExpectation, Expectation } from "./expectation.js";

export interface ActorOptions<Expectations extends Readonly<Record<string, AnyExpectation>>> {
  /** Episodes at work at once, of all its expectations and on all nodes. Default: no limit. */
  readonly concurrency?: number;
  /** What becomes of an episode that finds no place: it waits, it is skipped, or the oldest that waits is. Default: queue. */
  readonly overflow?: "queue" | Overflow;
  /** Pins new episodes to this version of the actor. Default: any version may go on with them. */
  readonly version?: string;
  /** Worked on only by nodes of these stacks. Default: of any. */
  readonly stacks?: readonly string[];
  readonly expectations: Expectations;
}

export type DefinitionOf<Name extends string, Key extends string, E> =
  E extends Expectation<infer In, infer Out, infer Parsed> ? Definition<`${Name}::${Key}`, In, Out, Parsed> : never;

export interface Actor<Name extends string, Expectations extends Readonly<Record<string, AnyExpectation>>> {
  readonly kind: "actor";
  readonly name: Name;
  /** What `start`, `ctx.child` and clients take. */
  readonly expectations: { readonly [Key in keyof Expectations & string]: DefinitionOf<Name, Key, Expectations[Key]> };
}

export interface AnyActor {
  readonly kind: "actor";
  readonly name: string;
  readonly expectations: Readonly<Record<string, AnyDefinition>>;
}

const OVERFLOWS: readonly unknown[] = ["queue", "drop", "shed-oldest"];

export function actor<const Name extends string, const Expectations extends Readonly<Record<string, AnyExpectation>>>(
  name: Name,
  options: ActorOptions<Expectations>,
): Actor<Name, Expectations> {
  programName(name, "actor name");
  const { overflow = "queue", concurrency } = options;
  if (!OVERFLOWS.includes(overflow)) throw new InvalidInput("overflow", "must be queue, drop or shed-oldest");
  if (overflow !== "queue" && concurrency === undefined)
    throw new InvalidInput("overflow", "needs a concurrency: without it there is always a place");
  const entries = Object.entries(options.expectations);
  if (entries.length === 0) throw new InvalidInput("expectations", "must have at least one");
  const made = entries.map(([key, one]) => [key, episodeOf(name, key, one, options)]);
  return { kind: "actor", name, expectations: Object.fromEntries(made) };
}

/** A node's list may have actors among its programs: each of their expectations is one. */
export function definitionsOf(programs: readonly (AnyDefinition | AnyActor)[]): readonly AnyDefinition[] {
  return programs.flatMap((one) => (isActor(one) ? Object.values(one.expectations) : one));
}

function isActor(program: AnyDefinition | AnyActor): program is AnyActor {
  return "expectations" in program;
}

function episodeOf(
  actorName: string,
  key: string,
  { options, strategy }: AnyExpectation,
  ofActor: Omit<ActorOptions<Record<string, AnyExpectation>>, "expectations">,
): AnyDefinition {
  const path = `expectations.${key}`;
  const name = programName(`${actorName}::${key}`, path);
  const triggers = (options.on ?? []).map(({ spec }) => spec);
  if (options.retry !== undefined) retryPolicy(options.retry, `${path}.retry`);
  const parts: EpisodeParts = {
    kind: "episode",
    name,
    queue: name,
    version: ofActor.version === undefined ? null : versionName(ofActor.version, "version"),
    limits: [...serialRule(name, options.serial, triggers, path), ...placeRule(actorName, ofActor)],
    breaker: options.circuitBreaker === undefined ? null : breakerRule(options.circuitBreaker),
    recovery: recoveryOf(options.recovery, `${path}.recovery`),
    budget: budgetOf(options.budget, `${path}.budget`),
    retry: options.retry,
    onBudgetExhausted: options.onBudgetExhausted,
    strategy,
  };
  const stacks = ofActor.stacks?.map((stack) => stackName(stack, "stacks"));
  const { kind, queue, version, limits, breaker, recovery } = parts;
  return {
    ...{ kind, name, queue, version, limits, breaker, recovery: recovery ?? "resume", triggers },
    schema: options.input ?? null,
    ...(stacks && { stacks }),
    serve: (environment) => [episodeProgram(parts, environment)],
  };
}

/** Counted over all expectations: its key is the actor's, not a queue's. */
function placeRule(
  name: string,
  { concurrency, overflow }: Pick<ActorOptions<Record<string, AnyExpectation>>, "concurrency" | "overflow">,
): LimitRule[] {
  if (concurrency === undefined) return [];
  const scope = { scope: `actor ${name}`, ...(overflow && overflow !== "queue" && { overflow }) };
  return limitRules({ concurrency }).map((rule) => ({ ...rule, ...scope }));
}

function serialRule(
  scope: string,
  serial: string | undefined,
  triggers: readonly TriggerSpec[],
  path: string,
): LimitRule[] {
  if (serial === undefined) return [];
  const along = serial === "subject" ? subjectOf(triggers, path) : parsePath(serial, `${path}.serial`);
  return [{ kind: "serial", path: along, max: 1, perMs: null, scope, pathOptional: true }];
}

function subjectOf(triggers: readonly TriggerSpec[], path: string): readonly string[] {
  const events = triggers.filter((trigger): trigger is EventSpec => trigger.kind === "event");
  const subjects = new Map(events.flatMap(({ subject }) => (subject ? [[subject.join("."), subject]] : [])));
  const [first, ...others] = subjects.values();
  if (first && others.length === 0) return first;
  const problem = first
    ? "has triggers with different subjects; give the path instead"
    : "has no trigger with a subject";
  throw new InvalidInput(`${path}.serial`, `"subject": the expectation ${problem}`);
}
