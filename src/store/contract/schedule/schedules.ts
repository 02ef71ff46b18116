// Schedules: when a program is due, as rows. Which windows there are is worked out by the nodes that declare a schedule; the store
// keeps what was decided, and lets each decision be made once.

import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { ProbeRequest } from "../limit/breakers.js";

export interface DeclaredSchedule {
  /** Drawn by the caller; a schedule that is there already keeps its own. */
  readonly id: string;
  /** Where its runs go. The last declaration counts for queue and version. */
  readonly group: RunGroup;
  /** Which schedule of its program it is: one row per env, stack, program and key. */
  readonly key: string;
  /** What the windows are worked out from. The store does not look into it. */
  readonly spec: string;
}

/** All that a node has to say about the schedules of its programs. */
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
  /** When it was first declared: what intervals are counted from. */
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
  /** The store's clock: what windows are judged by. */
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
  /** Each with a key. One whose key is taken, by whichever run, was started before and is left out. */
  readonly runs: readonly NewRun[];
  /** Of one of the runs: it goes in if it is the one that takes this probe of its program's breaker, and only then. */
  readonly probe?: ProbeRequest;
}

export type FireAnswer =
  /** The runs that are there because of this call. */
  | { readonly outcome: "fired"; readonly runIds: readonly string[] }
  /** Somebody else decided, or it is paused or gone, or its row was locked: look again. */
  | { readonly outcome: "moved" };

export interface ScheduleStore {
  /**
   * Told by a node at its start and every now and then. A new schedule begins now: nothing is due for the past. Answers the ids,
   * in the order of the schedules.
   */
  declare(declaration: ScheduleDeclaration): Promise<readonly string[]>;
  /** Those of these that are to be decided on now. */
  due(ids: readonly string[]): Promise<DueSchedules>;
  /** At most one for each schedule. The runs are there if the schedule moved, and only then. */
  fire(fires: readonly Fire[]): Promise<readonly FireAnswer[]>;
  /** By program, key and stack. */
  list(env: string): Promise<{ readonly now: number; readonly schedules: readonly ScheduleRecord[] }>;
  /** `name`: a program's name, or a schedule's id. Answers how many there are. Pausing again changes nothing. */
  pause(env: string, name: string, by: string): Promise<number>;
  resume(env: string, name: string): Promise<number>;
}
