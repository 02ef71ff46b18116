// What starts a program besides a call: an event, a cron line, an interval. Values with the type of the input they bring.

import type { Filter } from "../kernel/contains.js";
import type { Per } from "../kernel/per.js";
import type { KeyLifetime } from "../kernel/run/new-run.js";
import type { CatchUp } from "./decide-fires.js";

/** Data only: kept in the database, judged where nobody has the code. */
export type TriggerSpec = EventSpec | CronSpec | IntervalSpec | ManualSpec;

/** Starts nothing: it only says that a call may bring such an input. */
export interface ManualSpec {
  readonly kind: "manual";
}

export interface EventSpec {
  readonly kind: "event";
  readonly event: string;
  /** Alternatives: the event is for us when its payload contains one of them. Empty: always. */
  readonly where: readonly Filter[];
  /** A path into the payload: events with the same value there belong together. */
  readonly subject: readonly string[] | null;
  /** Waits for so long without another event of the subject, then runs with the last one. */
  readonly debounceMs: number | null;
  /** How long the same event starts nothing again. */
  readonly lifetime: KeyLifetime;
  /** Whether it starts one run for the env, or one in each stack. */
  readonly per: Per;
}

export interface CronSpec {
  readonly kind: "cron";
  readonly line: string;
  readonly timezone: string;
  readonly catchUp: CatchUp;
  /** Whether a window has one run for the env, or one in each stack. */
  readonly per: Per;
}

export interface IntervalSpec {
  readonly kind: "every";
  readonly everyMs: number;
  readonly catchUp: CatchUp;
  readonly per: Per;
}

/** `In` is the input that a run gets which it starts. */
export interface Trigger<out In> {
  readonly spec: TriggerSpec;
  /** Carries the type only. */
  readonly "~in"?: () => In;
}

/** The input of a program with these triggers: one of what each of them brings. */
export type InputOfTriggers<Triggers> = Triggers extends readonly Trigger<infer In>[] ? In : never;

/** What a schedule's run gets. `window` is the instant it was due, the same whoever asks and whenever; `at` is when it was started. */
export interface Tick<Type extends "cron" | "every"> {
  readonly type: Type;
  readonly window: string;
  readonly at: string;
}

/** What a call brings to a program that also has other triggers. */
export type Manual<Payload extends object> = { readonly type: "manual" } & Payload;

/** In a list of triggers: a call may start the program, too, with such an input. */
export function manual<Payload extends object = Record<never, never>>(): Trigger<Manual<Payload>> {
  return { spec: { kind: "manual" } };
}
