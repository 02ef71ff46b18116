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

/** Options of an actor: its expectations, and the limit and version that they share. */
export interface ActorOptions<Expectations extends Readonly<Record<string, AnyExpectation>>> {
  /** Episodes that run at once, of all its expectations and on all nodes. @default no limit */
  readonly concurrency?: number;
  /**
   * What happens to an episode without a free slot: it waits, it is skipped, or the oldest waiting one is.
   * @default queue
   */
  readonly overflow?: "queue" | Overflow;
  /** Pins new episodes to this version of the actor. @default any version may execute them */
  readonly version?: string;
  /** Served only by nodes of these stacks. @default by any */
  readonly stacks?: readonly string[];
  /** What the actor watches for, by name. Each becomes the program `actor::name`. */
  readonly expectations: Expectations;
}

export type DefinitionOf<Name extends string, Key extends string, E> =
  E extends Expectation<infer In, infer Out, infer Parsed> ? Definition<`${Name}::${Key}`, In, Out, Parsed> : never;

/** An actor, as `actor()` makes it. Put it into `programs` of a node. */
export interface Actor<Name extends string, Expectations extends Readonly<Record<string, AnyExpectation>>> {
  /** Distinguishes an actor from other programs. */
  readonly kind: "actor";
  /** The first part of the names of its programs. */
  readonly name: Name;
  /** What `start`, `ctx.child` and clients accept. */
  readonly expectations: { readonly [Key in keyof Expectations & string]: DefinitionOf<Name, Key, Expectations[Key]> };
}

/** An actor of any name, with any expectations. */
export interface AnyActor {
  /** Distinguishes an actor from other programs. */
  readonly kind: "actor";
  /** The first part of the names of its programs. */
  readonly name: string;
  /** Its programs, by the names of its expectations. */
  readonly expectations: Readonly<Record<string, AnyDefinition>>;
}

const OVERFLOWS: readonly unknown[] = ["queue", "drop", "shed-oldest"];

/**
 * Defines an actor: a named set of expectations that share a limit. Each expectation is a program; its runs are
 * episodes.
 *
 * @example
 * ```ts
 * const monitor = actor("resource-monitor", {
 *   concurrency: 3,
 *   overflow: "queue",
 *   expectations: {
 *     checkLimits: expectation(
 *       {
 *         on: [on(updated, { where: { kind: "disk" }, subject: "resourceId" }), manual<{ resourceId: string }>()],
 *         serial: "subject",
 *         circuitBreaker: { threshold: 5, halfOpenAfter: "1m" },
 *       },
 *       async (ctx, input) => ctx.step("judge", () => (input.type === "manual" ? "looked at" : `${input.used} % used`)),
 *     ),
 *     advise: expectation({ budget: { turns: 5, tokens: 1_000, timeout: "1m" } }, advice),
 *     thrifty: expectation(
 *       { budget: { tokens: 50 }, onBudgetExhausted: ({ spent }) => [`stopped after ${spent.tokens} tokens`] },
 *       advice,
 *     ),
 *   },
 * });
 * ```
 */
export function actor<const Name extends string, const Expectations extends Readonly<Record<string, AnyExpectation>>>(
  name: Name,
  options: ActorOptions<Expectations>,
): Actor<Name, Expectations> {
  programName(name, "actor name");
  const { overflow = "queue", concurrency } = options;
  if (!OVERFLOWS.includes(overflow)) throw new InvalidInput("overflow", "must be queue, drop or shed-oldest");
  if (overflow !== "queue" && concurrency === undefined)
    throw new InvalidInput("overflow", "needs a concurrency: without it there is always a free slot");
  const entries = Object.entries(options.expectations);
  if (entries.length === 0) throw new InvalidInput("expectations", "must have at least one expectation");
  const made = entries.map(([key, one]) => [key, episodeOf(name, key, one, options)]);
  return { kind: "actor", name, expectations: Object.fromEntries(made) };
}

/** A node's programs may include actors: each of their expectations is a program. */
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
    kind,
    name,
    queue,
    version,
    limits,
    breaker,
    recovery: recovery ?? "resume",
    triggers,
    schema: options.input ?? null,
    ...(stacks && { stacks }),
    serve: (environment) => [episodeProgram(parts, environment)],
  };
}

/** Counted over all expectations: the limit's key is the actor's, not a queue's. */
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
  const problem = first ? "has triggers with different subjects; give a path instead" : "has no trigger with a subject";
  throw new InvalidInput(`${path}.serial`, `"subject": the expectation ${problem}`);
}
