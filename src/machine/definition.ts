// The type of a machine: its own language is behind `logic`, everything else is what the runtime needs.

import type { Duration } from "../kernel/duration.js";
import type { Retry, RetryPolicy } from "../kernel/run/retry.js";
import type { Definition } from "../program/definition.js";
import type { Services } from "../program/environment.js";
import type { Logic, MachineEvent } from "./logic.js";

/** The id of an instance: any string is one, but the id of an instance of another machine is none of this one. */
export type InstanceId<Name extends string> = string & { readonly "~instanceOf"?: Name };

/** What an effect receives next to its arguments. */
export interface EffectInfo {
  /** The same for every attempt of this effect of this step, on every node: pass it to outside systems. */
  readonly idempotencyKey: string;
  /** Rises with every takeover: an outside system can reject calls with an older one. */
  readonly fence: bigint;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** Aborts when the claim is lost, the attempt times out or the node stops. */
  readonly signal: AbortSignal;
  /** The instance's id, and the sequence number of the event that requested the effect. */
  readonly id: string;
  /** The sequence number of the event that requested the effect. */
  readonly seq: number;
  /** What the node's option `services` made. */
  readonly services: Services;
}

/** Retries and timeout of an effect. */
export interface EffectOptions {
  /** Attempts in total, or a policy. @default 3, exponential from 1 s */
  readonly retry?: Retry;
  /** Limit for each attempt. @default none */
  readonly timeout?: Duration;
  /**
   * The result counts even if it arrives after `signal` was aborted. @default it is dropped, and the effect runs again
   */
  readonly finishOnAbort?: boolean;
}

/** The arguments of an effect, as of the microstep that requested it. */
export interface About<Context = unknown, Ev = unknown, Params = unknown> {
  /** The context of the machine. */
  readonly context: Context;
  /** The event that led here. */
  readonly event: Ev;
  /** The parameters of the action. */
  readonly params: Params;
}

/** The event it returns is sent to the instance, once. */
export interface Effect {
  readonly policy: RetryPolicy;
  readonly timeoutMs: number | null;
  readonly finishOnAbort: boolean;
  readonly run: (info: EffectInfo, about: About) => unknown;
}

/** As XState calls the function of `fromPromise`. */
export interface ActorArguments {
  readonly input: never;
  readonly signal: AbortSignal;
  readonly self: { readonly id: string };
  readonly system: undefined;
  readonly emit: () => void;
}

/** An actor that a state invokes: a promise runs as an effect, a machine as an instance of its own. */
export type ActorValue =
  | (Effect & { readonly kind: "promise"; readonly name: string })
  | { readonly kind: "machine"; readonly name: string; readonly machine: AnyMachine };

/** Two states may invoke different actors under the same id. */
export function actorKey(path: string, id: string): string {
  return `${path}#${id}`;
}

/** A state as `migrate` receives and returns it. */
export interface Snapshot<Value = unknown, Context = unknown> {
  /** The state value, as XState has it. */
  readonly value: Value;
  /** The context of the machine. */
  readonly context: Context;
  /** What history states remember: their paths, and those of the remembered states. Omitted by `migrate`: unchanged. */
  readonly history?: Readonly<Record<string, readonly string[]>>;
}

export interface MermaidOptions {
  /** An instance's history. Visited states and the current one are coloured. */
  readonly trace?: { readonly visited: readonly unknown[]; readonly current: unknown };
}

/** A machine, as `machine()` makes it. Put it into `programs` of a node. */
export interface MachineDefinition<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>
  extends Definition<Name, In, Out> {
  /** Distinguishes a machine from other programs. */
  readonly kind: "machine";
  /** The state chart behind it. */
  readonly logic: Logic;
  /** Its effects, by the names of actions. */
  readonly effects: ReadonlyMap<string, Effect>;
  /** By the path of the state and the id of the invoke. */
  readonly actors: ReadonlyMap<string, ActorValue>;
  /** The program whose runs are its effects. */
  readonly effectProgram: string;
  /** How many events may pass before the state is stored. */
  readonly snapshotEvery: number;
  /** Whether each send holds a lease on its instance. */
  readonly locking: "optimistic" | "lease";
  /** Whether timers survive their process. */
  readonly timers: "durable" | "memory";
  /** From when a timer counts that a deployment adds to a state in which instances already are. */
  readonly addedTimers: "entry" | "now";
  /** Converts states of other versions; null: none is converted. */
  readonly migrate: ((snapshot: Snapshot, from: string | null) => Snapshot) | null;
  /** Maps the old path of a state to the new one. */
  readonly renamed: Readonly<Record<string, string>>;
  /** Fields that are redacted for people. */
  readonly redact: readonly string[];
  /** The id of an instance that a trigger starts; null: the id of its run. */
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
