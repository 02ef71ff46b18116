// A program as its user defines it: a plain value, of whatever kind. A node is given a list of them.

import type { Program } from "../engine/program.js";
import type { BreakerRule } from "../kernel/breaker-rule.js";
import type { TriggerSpec } from "../trigger/trigger.js";
import type { ProgramEnvironment } from "./environment.js";
import type { Schema } from "./schema.js";
import type { Startable } from "./startable.js";

/** `In` is what a start takes; `Parsed` what the program gets: the same, unless a schema makes something else of it. */
export interface Definition<Name extends string, In, Out, Parsed = In> extends Startable {
  readonly kind: string;
  readonly name: Name;
  readonly schema: Schema<In, Parsed> | null;
  /** What starts it besides a call. */
  readonly triggers: readonly TriggerSpec[];
  readonly breaker: (BreakerRule & { readonly cancelRunning: boolean }) | null;
  /** What a node claims for it, each with the way to work on one claimed run. */
  readonly serve: (environment: ProgramEnvironment) => readonly Program[];
  /** Carries the types only. */
  readonly "~types"?: (input: In, parsed: Parsed) => Out;
}

// biome-ignore lint/suspicious/noExplicitAny: any program, whatever it takes and returns
export type AnyDefinition = Definition<string, any, any, any>;
