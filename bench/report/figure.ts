// What a work reports: figures of every library, ratios of Holdfast to the others, and gates.

import { median, type Ratio, ratioOf } from "../measure.js";

export type Better = "higher" | "lower";

/** One quantity of one library, over all rounds. */
export interface Figure {
  readonly name: string;
  readonly library: string;
  readonly unit: string;
  readonly better: Better;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

/** Holdfast's value divided by the other's, round by round. */
export interface AgainstOther extends Ratio {
  readonly name: string;
  readonly against: string;
  readonly better: Better;
}

/** A bound that decides about `ok`. */
export interface Gate {
  readonly name: string;
  readonly value: number;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly holds: boolean;
}

export interface WorkReport {
  readonly work: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly ratios: readonly AgainstOther[];
  readonly gates: readonly Gate[];
  /** What a reader must know: who was left out, and why. */
  readonly notes: readonly string[];
  /** One-row commits per second around the rounds. */
  readonly oneRowCommits?: number;
}

/** Values of one quantity, by library and round. */
export type Samples = ReadonlyMap<string, readonly number[]>;

export interface Quantity {
  readonly name: string;
  readonly unit: string;
  readonly better: Better;
}

const digits = (value: number) => (Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

export function figuresOf({ name, unit, better }: Quantity, samples: Samples): Figure[] {
  return [...samples].map(([library, values]) => ({
    name,
    library,
    unit,
    better,
    median: digits(median(values)),
    low: digits(Math.min(...values)),
    high: digits(Math.max(...values)),
    rounds: values.length,
  }));
}

export function ratiosOf({ name, better }: Quantity, samples: Samples): AgainstOther[] {
  const ours = samples.get("holdfast");
  if (!ours) return [];
  // What is too small to be measured is no divisor.
  const others = [...samples].filter(([library, theirs]) => library !== "holdfast" && theirs.every((one) => one > 0));
  return others.map(([against, theirs]) => ({
    name,
    against,
    better,
    ...ratioOf(theirs.map((value, i) => ours[i]! / value)),
  }));
}

/** What a rate is divided by to compare it with one of another machine. */
export const ONE_ROW_COMMITS = "one-row commits";
const YARDSTICKS = ["sql", ONE_ROW_COMMITS];

/** The ratio to the peer that is best at this; a yardstick is no peer. */
export function bestPeer(ratios: readonly AgainstOther[], name: string): AgainstOther | undefined {
  const peers = ratios.filter((one) => one.name === name && !YARDSTICKS.includes(one.against));
  return peers.sort((a, b) => (a.better === "higher" ? a.median - b.median : b.median - a.median))[0];
}

export function atLeast(name: string, value: number, bound: number): Gate {
  return { name, value, atLeast: bound, holds: value >= bound };
}

export function atMost(name: string, value: number, bound: number): Gate {
  return { name, value, atMost: bound, holds: value <= bound };
}
