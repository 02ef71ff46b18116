// When a task runs, given the outcomes of its needs. Rules are plain functions of the outcomes; these are the common
// ones, and combinators.

import { InvalidInput } from "../kernel/error.js";
import type { Outcome } from "./outcome.js";

/** A rule over needs with these names; a function of your own may also look at the DAG's input. */
export interface Rule<Names extends string = never> {
  (outcomes: { readonly [Name in Names]: Outcome }, input?: unknown): boolean;
  /** The needs it names; checked where the task is defined. */
  readonly needs?: readonly string[];
}

type OutcomesOf = Readonly<Record<string, Outcome>>;

/** Regardless of its needs' outcomes. */
export const always: Rule = () => true;

/** Of these needs, or of all: none was skipped or failed. True of an empty list. */
export function allSucceeded<const Names extends string = never>(names?: readonly Names[]): Rule<Names> {
  return rule(names, (states) => states.every((state) => state === "succeeded"));
}

/** Of these needs, or of all: at least one succeeded. False of an empty list. */
export function anySucceeded<const Names extends string = never>(names?: readonly Names[]): Rule<Names> {
  return rule(names, (states) => states.some((state) => state === "succeeded"));
}

/** Of these needs, or of all: each succeeded or was skipped, and not because of a failure above it. True of an empty list. */
export function noneFailed<const Names extends string = never>(names?: readonly Names[]): Rule<Names> {
  return rule(names, (states) => states.every((state) => state === "succeeded" || state === "skipped"));
}

/** All of these rules hold. True without any. */
export function and<Names extends string = never>(...rules: readonly Rule<Names>[]): Rule<Names> {
  return joined(rules, (outcomes, input) => rules.every((one) => one(outcomes, input)));
}

/** One of these rules holds. False without any. */
export function or<Names extends string = never>(...rules: readonly Rule<Names>[]): Rule<Names> {
  return joined(rules, (outcomes, input) => rules.some((one) => one(outcomes, input)));
}

/** Runs when the rule does not hold. */
export function not<Names extends string = never>(one: Rule<Names>): Rule<Names> {
  return joined([one], (outcomes, input) => !one(outcomes, input));
}

/** A need that is not there counts as skipped: it neither succeeded nor failed. */
function rule<Names extends string>(
  names: readonly Names[] | undefined,
  holds: (states: readonly Outcome["state"][]) => boolean,
): Rule<Names> {
  if (names !== undefined && !Array.isArray(names))
    throw new InvalidInput("when", "needs must be given as a list of names");
  const judge = (outcomes: OutcomesOf) =>
    holds((names ?? Object.keys(outcomes)).map((name) => outcomes[name]?.state ?? "skipped"));
  return Object.assign(judge, { needs: names ?? [] }) as Rule<Names>;
}

function joined<Names extends string>(rules: readonly Rule<Names>[], judge: Rule<Names>): Rule<Names> {
  for (const one of rules) if (typeof one !== "function") throw new InvalidInput("when", "rules must be functions");
  return Object.assign((...given: Parameters<Rule<Names>>) => judge(...given), {
    needs: rules.flatMap((one) => one.needs ?? []),
  });
}
