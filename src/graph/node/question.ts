// A question inside a node, and the type of its answer.

import type { Duration } from "../../kernel/duration.js";
import type { Schema } from "../../program/schema.js";
import type { Decision } from "../../workflow/context.js";

/** A question from inside a graph node. */
export interface AskOptions {
  /** The question, as people see it. */
  readonly ask: string;
  /** What will be done with the answer. Shown with the question; an answer to one plan never counts for another. */
  readonly plan?: unknown;
  /** Who should answer, for the inbox of approvals. */
  readonly to?: string;
}

/** Asks a person from inside a graph node and waits for the answer. */
export interface Interrupts {
  /** One of these choices, with who decided, a note and data. */
  <const Choices extends readonly string[]>(
    question: AskOptions & {
      readonly choices: Choices;
      readonly timeout?: Duration;
      /** The choice that counts on timeout. Without it the outcome is then `expired`. */
      readonly default?: Choices[number];
    },
  ): Promise<Decision<Choices[number]>>;
  /** The data of the answer, as this schema parses it. What it refuses is asked again, with the reason. */
  <T>(
    question: AskOptions & { readonly answer: Schema<unknown, T> | Schema<T, T>; readonly timeout?: undefined },
  ): Promise<T>;
  /** `undefined` when no answer came in time. */
  <T>(
    question: AskOptions & { readonly answer: Schema<unknown, T> | Schema<T, T>; readonly timeout: Duration },
  ): Promise<T | undefined>;
  /** The data of the answer, unchecked. */
  <T = unknown>(question: string | AskOptions): Promise<T>;
}
