// A machine as a value: the definition's own language is behind `logic`, everything else is what the runtime needs to know.

import type { Duration } from "../kernel/duration.js";
import type { Retry, RetryPolicy } from "../kernel/run/retry.js";
import type { Definition } from "../program/definition.js";
import type { Services } from "../program/environment.js";
import type { Logic, MachineEvent } from "./logic.js";

/** What an effect is given besides what it is about. */
export interface EffectInfo {
  /** The same for every attempt of this effect of this step, on every node: pass it to outside systems. */
  readonly idempotencyKey: string;
  /** Rises with every takeover: an outside system can refuse what is older. */
  readonly fence: bigint;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** The id of the instance, and the sequence of the event that asked for the effect. */
  readonly id: string;
  readonly seq: number;
  readonly services: Services;
}

export interface EffectOptions {
  /** Attempts in total, or a policy. Default 3, exponential from 1 s. */
  readonly retry?: Retry;
  /** Of each attempt. Default: none. */
  readonly timeout?: Duration;
  /** Its answer counts also when it arrives after the abort of `signal`. Default: it is dropped, and the effect runs again. */
  readonly finishOnAbort?: boolean;
}

/** What the effect is about, as of the microstep that asked for it. */
export interface EffectArguments {
  readonly context: unknown;
  readonly event: unknown;
  readonly params: unknown;
}

/** The event that it answers is sent to the instance, once. */
export interface Effect {
  readonly policy: RetryPolicy;
  readonly timeoutMs: number | null;
  readonly finishOnAbort: boolean;
  readonly run: (info: EffectInfo, about: EffectArguments) => unknown;
}

/** A state as `migrate` gets and answers it. */
export interface Snapshot<Value = unknown, Context = unknown> {
  readonly value: Value;
  readonly context: Context;
}

export interface MermaidOptions {
  /** Where the instance has been: its history. States it was in and where it is are coloured. */
  readonly trace?: { readonly visited: readonly unknown[]; readonly current: unknown };
}

export interface MachineDefinition<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>
  extends Definition<Name, In, Out> {
  readonly kind: "machine";
  readonly logic: Logic;
  readonly effects: ReadonlyMap<string, Effect>;
  /** The program that its effects are runs of. */
  readonly effectProgram: string;
  readonly snapshotEvery: number;
  readonly locking: "optimistic" | "lease";
  readonly timers: "durable" | "memory";
  readonly migrate: ((snapshot: Snapshot, from: string | null) => Snapshot) | null;
  /** Old path of a state, new path. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly redact: readonly string[];
  /** The id of an instance that a trigger starts; null: that of its run. */
  readonly idOf: ((input: In) => string) | null;
  /** A state diagram, for documents and dashboards. */
  toMermaid(options?: MermaidOptions): string;
  /** Carries the types only. */
  readonly "~machine"?: (event: Ev) => readonly [Value, Context];
}

// biome-ignore lint/suspicious/noExplicitAny: any machine, whatever it takes and is
export type AnyMachine = MachineDefinition<string, any, any, any, any, any>;

export function isMachine(program: object): program is AnyMachine {
  return (program as { readonly kind?: unknown }).kind === "machine";
}
