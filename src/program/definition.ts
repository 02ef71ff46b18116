// A program as its user defines it: a plain value of any kind. A node has a list of them.

import type { Program } from "../engine/program.js";
import type { BreakerRule } from "../kernel/breaker-rule.js";
import type { TriggerSpec } from "../trigger/trigger.js";
import type { ProgramEnvironment } from "./environment.js";
import type { Schema } from "./schema.js";
import type { Startable } from "./startable.js";

/** `In` is the input of a start; `Parsed` is what the program receives: the same, unless a schema transforms it. */
export interface Definition<Name extends string, In, Out, Parsed = In> extends Startable {
  /** `workflow`, `dag`, `graph`, `machine` or `episode`. */
  readonly kind: string;
  /** The name of the program, unique in an env. */
  readonly name: Name;
  /** Checks and transforms the input; null: it is taken as it is. */
  readonly schema: Schema<In, Parsed> | null;
  /** What starts it other than a call. */
  readonly triggers: readonly TriggerSpec[];
  /** Its circuit breaker; null: none. */
  readonly breaker: (BreakerRule & { readonly cancelRunning: boolean }) | null;
  /** What it looks like before it runs, as plain data that is stored and drawn. Absent: there is nothing to draw. */
  readonly shape?: () => object;
  /** What a node claims for it, each with the way to work on one claimed run. */
  readonly serve: (environment: ProgramEnvironment) => readonly Program[];
  /** Carries the types only. */
  readonly "~types"?: (input: In, parsed: Parsed) => Out;
}

/** A program of any kind, input and result. */
// biome-ignore lint/suspicious/noExplicitAny: any program, whatever it takes and returns
export type AnyDefinition = Definition<string, any, any, any>;
