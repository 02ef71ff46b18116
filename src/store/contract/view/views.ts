// Views: what people look at, over many runs, leases and timers at once. They read only, and every answer is bounded.

import type { EndedState, RunState } from "../../../kernel/run/run-state.js";
import type { Holder, TakenBackAs } from "../claim/claims.js";
import type { JournalEntry } from "../journal/journal.js";
import type { LeaseRecord } from "../lease/leases.js";
import type { TimerRecord } from "../machine/machines.js";
import type { RunFilter, RunRecord } from "../run/records.js";
import type { DeadLetterViews } from "./dead-letters.js";
import type { Counted, ViewPage, ViewRequest } from "./page.js";

export type { Counted, ViewPage, ViewRequest };

export interface OutlineRequest {
  readonly runId: string;
  /** Entries after this one. @default those of the current generation */
  readonly after?: number;
  /** Entries before this one. @default up to the last */
  readonly before?: number;
  readonly limit: number;
  /** The last entries of the range instead of the first. */
  readonly last?: boolean;
}

/** A journal entry without its payload. */
export interface OutlineEntry extends Omit<JournalEntry, "payload"> {
  /** Of the payload; null: it has none. */
  readonly bytes: number | null;
  readonly codec: string | null;
}

export interface Outline {
  readonly state: RunState;
  readonly seq: number;
  readonly baseSeq: number;
  /** The key that the run holds; null: none. */
  readonly key: string | null;
  readonly entries: readonly OutlineEntry[];
}

/** An approval that is asked for and not decided. */
export interface Question {
  readonly runId: string;
  readonly program: string;
  readonly stack: string | null;
  readonly baseSeq: number;
  readonly entry: JournalEntry;
}

/** A claim that was reclaimed from its holder. */
export interface Takeover {
  readonly runId: string;
  readonly program: string;
  readonly epoch: number;
  readonly at: number;
  readonly from: Holder;
  readonly by: Holder | null;
  readonly outcome: TakenBackAs;
}

export interface LimitLine {
  /** Without the env. */
  readonly key: string;
  /** Runs that hold a slot now, and runs in line; each counted up to `MOST_IN_LINE`. */
  readonly granted: number;
  readonly waiting: number;
}

export const MOST_ENVS = 100;

export const MOST_IN_LINE = 1_000;

export interface TimerView extends Omit<TimerRecord, "payload"> {
  readonly machine: string;
  /** The id of the instance. */
  readonly instance: string;
}

/** A run that ended or was quarantined. */
export interface EndedRun {
  /** The id of the run. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** Its queue. */
  readonly queue: string;
  /** Its stack; null: any. */
  readonly stack: string | null;
  /** The run that started it; null: none did. */
  readonly parentId: string | null;
  /** How it ended, or that it is quarantined. */
  readonly state: EndedState | "quarantined";
  /** When; ms since 1970 on the database's clock. */
  readonly at: number;
  /** Its place in the order of ends: the `after` of what follows. */
  readonly place: string;
}

/** `next` is where to continue, also when nothing has ended since. */
export interface EndedPage {
  readonly rows: readonly EndedRun[];
  readonly next: string;
}

export interface ViewStore extends DeadLetterViews {
  /** Many runs at once, in the order asked for; null when there is no such run. With the database's clock. */
  runs(runIds: readonly string[]): Promise<{ readonly now: number; readonly runs: readonly (RunRecord | null)[] }>;

  /** Counts the runs that fit, up to `most`. */
  count(filter: RunFilter, most: number): Promise<Counted>;

  /** Journals without payloads, many at once, in the order asked for; null when there is no such run. */
  outline(requests: readonly OutlineRequest[]): Promise<readonly (Outline | null)[]>;

  /** Approvals that live runs ask for and that no message has decided, newest run first. */
  questions(request: ViewRequest): Promise<ViewPage<Question>>;

  /** Reclaimed claims, newest first. */
  takeovers(request: ViewRequest): Promise<ViewPage<Takeover>>;

  /** Named leases by key, without their tokens. */
  leases(request: ViewRequest & { readonly prefix?: string }): Promise<ViewPage<Omit<LeaseRecord, "token">>>;

  /** Timers of instances by the time of their next attempt. */
  timers(request: ViewRequest & { readonly state: "pending" | "dead" }): Promise<ViewPage<TimerView>>;

  /** The key of the limit that each of these runs waits for, without the env; null: it waits for none. In the order asked for. */
  waitsFor(runIds: readonly string[]): Promise<readonly (string | null)[]>;

  /** The envs that have runs, by name: at most `MOST_ENVS`. */
  envs(): Promise<readonly string[]>;

  /**
   * Runs of an env in the order of their ends, from a place on; without one, from now on. A run is listed by the time at which its
   * end was written: one that is committed late may be listed before others that were read already.
   */
  ended(request: ViewRequest): Promise<EndedPage>;

  /** Limits that runs hold or wait for, by key. */
  limits(request: ViewRequest): Promise<ViewPage<LimitLine>>;
}
