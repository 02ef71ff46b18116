// Schedules: when a program is due, as rows. The nodes that declare a schedule compute its windows; the store stores their
// decisions, and accepts each decision once.

import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { ProbeRequest } from "../limit/breakers.js";

export interface DeclaredSchedule {
  /** Drawn by the caller; an existing schedule keeps its own. */
  readonly id: string;
  /** The group of its runs. The last declaration decides queue and version. */
  readonly group: RunGroup;
  /** Which schedule of its program it is: one row per env, stack, program and key. */
  readonly key: string;
  /** The rule that the windows are computed from. The store does not look into it. */
  readonly spec: string;
}

/** All schedules of a node's programs. */
export interface ScheduleDeclaration {
  readonly env: string;
  readonly stack: string | null;
  /** Its programs, also those that have no schedule (any more). */
  readonly programs: readonly string[];
  readonly schedules: readonly DeclaredSchedule[];
  /** Schedules of these programs that no node has declared for this time are removed. Null: none is. */
  readonly removeAfterMs: number | null;
}

export interface ScheduleRecord {
  readonly id: string;
  readonly group: RunGroup;
  readonly key: string;
  readonly spec: string;
  /** When it was first declared: intervals are counted from here. */
  readonly anchor: number;
  /** Windows up to here are decided. */
  readonly last: number;
  /** When to decide next; null: never again. */
  readonly next: number | null;
  /** Since when, and by whom. */
  readonly paused: { readonly at: number; readonly by: string } | null;
  /** When a node last declared it. */
  readonly seenAt: number;
}

export interface DueSchedules {
  /** The store's clock, which decides which windows are due. */
  readonly now: number;
  readonly schedules: readonly ScheduleRecord[];
  /** How long until the next of them is due; null when none will be. */
  readonly nextMs: number | null;
}

/** One decision about one schedule: accepted whole, or not at all. */
export interface Fire {
  readonly scheduleId: string;
  /** `last` as it was read: if it differs now, another node decided first. */
  readonly seenLast: number;
  readonly last: number;
  readonly next: number | null;
  /** Each with a key. A run whose key is taken, by any run, was started before and is left out. */
  readonly runs: readonly NewRun[];
  /** For one of the runs: it is inserted only if it takes this probe of its program's breaker. */
  readonly probe?: ProbeRequest;
}

export type FireAnswer =
  /** The runs that this call created. */
  | { readonly outcome: "fired"; readonly runIds: readonly string[] }
  /** Another node decided, or the schedule is paused or removed, or its row was locked: read it again. */
  | { readonly outcome: "moved" };

export interface ScheduleStore {
  /**
   * Called by a node at its start and from time to time. A new schedule begins now: nothing is due for the past. Returns the
   * ids, in the order of the schedules.
   */
  declare(declaration: ScheduleDeclaration): Promise<readonly string[]>;
  /** Those of these that are to be decided on now. */
  due(ids: readonly string[]): Promise<DueSchedules>;
  /** At most one for each schedule. The runs are created only if the schedule moved. */
  fire(fires: readonly Fire[]): Promise<readonly FireAnswer[]>;
  /** By program, key and stack. */
  list(env: string): Promise<{ readonly now: number; readonly schedules: readonly ScheduleRecord[] }>;
  /** `name`: a program's name, or a schedule's id. Returns how many there are. Pausing again changes nothing. */
  pause(env: string, name: string, by: string): Promise<number>;
  resume(env: string, name: string): Promise<number>;
}
