// What a benchmark asks of a library: the same few verbs for Holdfast, for its peers and for plain SQL.

/**
 * `noop`: returns at once. `steps`: as many recorded steps as its input says. `echo`: returns its input. `nap`: sleeps for a second.
 * `parked`: sleeps for an hour.
 */
export type Program = "noop" | "steps" | "echo" | "nap" | "parked";

export type Input = number | string | null;

/** How long a nap is. */
export const NAP_MS = 1_000;

/** What every step returns. */
export const STEP_RESULT = "twenty bytes of it";

export interface Place {
  readonly url: string;
  readonly schema: string;
}

/** Called by the programs. A run that has slept begins a second time. */
export interface Reports {
  begun(input: Input): void;
  /** The program has returned; whether its end is stored is asked for separately. */
  ended(): void;
  /** How long after its due time a nap was over. */
  late(ms: number): void;
}

export interface WorkOptions {
  readonly concurrency: number;
  /**
   * `drain`: many runs wait, only the rate counts. `latency`: runs come one at a time and should begin soon. `flight`: exactly
   * `concurrency` runs at the same time.
   */
  readonly purpose: "drain" | "latency" | "flight";
}

export interface Library {
  readonly name: string;
  /** The npm package it is measured in; null for what needs none. */
  readonly packageName: string | null;
  /** A queue has no steps. */
  readonly programs: readonly Program[];
  /** Whether it has a call that starts many runs. */
  readonly startsMany: boolean;
  /** Settings that differ from the defaults, for the report. */
  readonly settings: string;
  /** The share of a work's size that it gets, so that its round takes seconds and not minutes. */
  readonly share: number;
  /** A query that returns a row while some run has not ended. */
  readonly pendingSql: (schema: string) => string;
  /** Creates what is missing in the schema. */
  readonly open: (place: Place, reports: Reports) => Promise<Opened>;
}

export interface Opened {
  /** Resolves when the run is stored. */
  start(program: Program, input: Input): Promise<unknown>;
  /** In one call; absent when the library has none. */
  startMany?(program: Program, inputs: readonly Input[]): Promise<unknown>;
  /** Resolves when the library is at work; the function it returns stops that. */
  work(options: WorkOptions): Promise<() => Promise<void>>;
  /** How many times it asked for work since it was opened, and how many times there was none; where it is known. */
  claims?(): Claims;
  close(): Promise<void>;
}

export interface Claims {
  readonly asked: number;
  readonly empty: number;
}
