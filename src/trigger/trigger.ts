// What starts a program other than a call: an event, a cron line, an interval. Values typed by the input they provide.

import type { Filter } from "../kernel/contains.js";
import type { Per } from "../kernel/per.js";
import type { KeyLifetime } from "../kernel/run/new-run.js";
import type { CatchUp } from "./decide-fires.js";

/** Data only: stored in the database, evaluated without the program's code. */
export type TriggerSpec = EventSpec | CronSpec | IntervalSpec | ManualSpec;

/** Starts nothing: it only declares that a call may pass such an input. */
export interface ManualSpec {
  readonly kind: "manual";
}

export interface EventSpec {
  readonly kind: "event";
  readonly event: string;
  /** Alternatives: the trigger matches when the payload contains one of them. Empty: always. */
  readonly where: readonly Filter[];
  /** A path into the payload: events with the same value there belong together. */
  readonly subject: readonly string[] | null;
  /** Waits until the subject has had no event for this long, then runs with the last one. */
  readonly debounceMs: number | null;
  /** How long a repeated event starts nothing. */
  readonly lifetime: KeyLifetime;
  /** Whether it starts one run per env, or one per stack. */
  readonly per: Per;
}

export interface CronSpec {
  readonly kind: "cron";
  readonly line: string;
  readonly timezone: string;
  readonly catchUp: CatchUp;
  /** Whether a window has one run per env, or one per stack. */
  readonly per: Per;
}

export interface IntervalSpec {
  readonly kind: "every";
  readonly everyMs: number;
  readonly catchUp: CatchUp;
  readonly per: Per;
}

/** `In` is the input of the runs it starts. */
export interface Trigger<out In> {
  /** The trigger as data. */
  readonly spec: TriggerSpec;
  /** Carries the type only. */
  readonly "~in"?: () => In;
}

/** The input of a program with these triggers: a union of what they provide. */
export type InputOfTriggers<Triggers> = Triggers extends readonly Trigger<infer In>[] ? In : never;

/**
 * The input of a schedule's run. `window` is the instant it was due, the same on every node; `at` is when it was
 * started.
 */
export interface Tick<Type extends "cron" | "every"> {
  /** The kind of schedule. */
  readonly type: Type;
  /** The instant it was due, as an ISO date. */
  readonly window: string;
  /** When the run was started, as an ISO date. */
  readonly at: string;
}

/** The input of a call to a program that also has other triggers. */
export type Manual<Payload extends object> = { readonly type: "manual" } & Payload;

/** In a list of triggers: a call may also start the program, with such an input. */
export function manual<Payload extends object = Record<never, never>>(): Trigger<Manual<Payload>> {
  return { spec: { kind: "manual" } };
}
