// The limits of a program as data, and the limits of one run, computed from its input without the program's code.

import { type Duration, toMs } from "./duration.js";
import { InvalidInput } from "./error.js";
import { hasKey, parsePath, readKey, type ScalarPath } from "./input-path.js";
import { limitKey } from "./name.js";
import type { LimitKind, NewLimit, Overflow } from "./run/new-run.js";

/** A limit for each value of a path into the input, such as one per customer. */
export interface KeyedLimit<Path extends string = string> {
  /** A path into the input: each value has its own limit. */
  readonly key: Path;
  /** How many runs may be at work at once. */
  readonly limit: number;
}

/** How many runs may start in a period. */
export interface RateLimit<Path extends string = string> {
  /** A path into the input. @default all runs of the queue */
  readonly key?: Path;
  /** How many runs may start. */
  readonly limit: number;
  /** The length of the period. */
  readonly per: Duration;
}

/** Options for users; each applies to the whole cluster. */
export interface FlowOptions<In> {
  /** How many runs of its queue may run at once: in total, per value of a path into the input, or both. */
  readonly concurrency?: number | KeyedLimit<ScalarPath<In>> | readonly (number | KeyedLimit<ScalarPath<In>>)[];
  /** How many runs may start per period, evenly spaced. */
  readonly rate?: RateLimit<ScalarPath<In>> | readonly RateLimit<ScalarPath<In>>[];
  /** One run at a time for each value of this path, in order of acceptance, until it has ended. */
  readonly serial?: ScalarPath<In>;
}

/** A limit as it is stored with a program. */
export interface LimitRule {
  /** What it limits: runs at work, starts in a period, or one at a time in order. */
  readonly kind: LimitKind;
  /** null: all runs of the queue. */
  readonly path: readonly string[] | null;
  /** How many. */
  readonly max: number;
  /** Set for a rate. */
  readonly perMs: number | null;
  /** The runs that share the limit. @default those of the queue */
  readonly scope?: string;
  /** Inputs without a value at the path share one key. @default they are rejected */
  readonly pathOptional?: boolean;
  /** Only for slots. @default runs without a free slot wait */
  readonly overflow?: Overflow;
}

const MOST = 1_000_000;

/**
 * Narrow to wide: a customer with 10,000 runs waiting under its own limit takes no place under the queue's. Keyed
 * limits are sorted by path, however they were written: two programs of one queue that pass the same limits in
 * different orders would deadlock.
 */
// biome-ignore lint/suspicious/noExplicitAny: paths were checked against the input where they were written
export function limitRules({ serial, concurrency, rate }: FlowOptions<any>): readonly LimitRule[] {
  const slots = listOf(concurrency).map((one, i): LimitRule => {
    const where = Array.isArray(concurrency) ? `concurrency[${i}]` : "concurrency";
    if (typeof one !== "object" || one === null)
      return { kind: "slots", path: null, max: count(one, where), perMs: null };
    return {
      kind: "slots",
      path: parsePath(one.key, `${where}.key`),
      max: count(one.limit, `${where}.limit`),
      perMs: null,
    };
  });
  const rates = listOf(rate).map((one, i) => rateRule(one, Array.isArray(rate) ? `rate[${i}]` : "rate"));
  const keyedFirst = (rules: readonly LimitRule[]) => [
    ...rules.filter(({ path }) => path !== null).sort((a, b) => (String(a.path) < String(b.path) ? -1 : 1)),
    ...rules.filter(({ path }) => path === null),
  ];
  const first = serial === undefined ? [] : [serialRule(serial)];
  const rules = [...first, ...keyedFirst(slots), ...keyedFirst(rates)];
  for (const [i, { kind, path }] of rules.entries()) {
    const twice = rules.slice(0, i).some((rule) => rule.kind === kind && String(rule.path) === String(path));
    const name = kind === "slots" ? "concurrency" : kind;
    if (twice) throw new InvalidInput(name, `has two limits for ${path?.join(".") ?? "the whole queue"}; keep one`);
  }
  return rules;
}

/** Throws, before anything is written, when the input lacks the key of a limit. */
export function newLimits(rules: readonly LimitRule[], queue: string, input: unknown): readonly NewLimit[] {
  return rules.map(({ kind, path, max, perMs, scope = queue, pathOptional = false, overflow }) => {
    const value = path && (pathOptional && !hasKey(input, path) ? "none" : readKey(input, path));
    const names = path === null ? "" : ` ${JSON.stringify(path)} ${value}`;
    const key = limitKey(`${kind} ${scope}${names}`, "limit");
    return { kind, key, max, ...(perMs !== null && { perMs }), ...(overflow && { overflow }) };
  });
}

function serialRule(serial: string): LimitRule {
  return { kind: "serial", path: parsePath(serial, "serial"), max: 1, perMs: null };
}

function rateRule(rate: RateLimit, where: string): LimitRule {
  if (typeof rate !== "object" || rate === null)
    throw new InvalidInput(where, 'must be like { limit: 100, per: "1s" }');
  const perMs = toMs(rate.per, `${where}.per`);
  if (perMs === 0) throw new InvalidInput(`${where}.per`, "must be greater than zero");
  const path = rate.key === undefined ? null : parsePath(rate.key, `${where}.key`);
  return { kind: "rate", path, max: count(rate.limit, `${where}.limit`), perMs };
}

function count(value: unknown, where: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST) return value as number;
  throw new InvalidInput(where, `must be a whole number from 1 to ${MOST}`);
}

function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as T];
}
