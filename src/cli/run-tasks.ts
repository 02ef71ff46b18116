// The tasks of a run for `holdfast show`: state, holder, attempts, duration.

import { type TaskStatus, tasksOfRun } from "../client/run-tasks.js";
import { codecs } from "../kernel/codec/codecs.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Store } from "../store/contract/store.js";
import { nameOf } from "./run-claims.js";
import { runJson } from "./run-json.js";
import { doing, type Surroundings, troubles } from "./run-situation.js";
import { STATE_COLOURS } from "./text/paint.js";
import type { Cell } from "./text/table.js";
import { span } from "./text/time-ago.js";

/** Only the first tasks of a fan-out of thousands are shown, failed ones first; the journal has all ids. */
const MOST = 200;

const CODECS = codecs();

export function tasksOf(store: Store, entries: readonly JournalEntry[]): Promise<readonly TaskStatus[]> {
  return tasksOfRun(store, CODECS, entries, { limit: MOST, failedFirst: true });
}

export function taskCells(
  { name, run, state, causes, owner: holder, error }: TaskStatus,
  around: Surroundings,
  now: number,
): Cell[] {
  const took =
    run.endedAt === null
      ? ""
      : `after ${span(Math.max(run.endedAt - run.availableAt, 0))}${holder ? ` by ${nameOf(holder)}` : ""}`;
  const waits = run.pending > 0 ? `waits for ${run.pending}` : doing(run, around, now);
  return [
    name,
    { text: state, colour: STATE_COLOURS[run.state] },
    run.endedAt === null ? waits : took,
    run.epoch === 0 ? "" : `${run.epoch} ${run.epoch === 1 ? "claim" : "claims"}`,
    why({ run, causes, error }),
    run.id,
  ];
}

function why({ run, causes, error }: Pick<TaskStatus, "run" | "causes" | "error">): string {
  const failed = causes.length > 0 ? [`${causes.join(", ")} failed`] : [];
  const lines = [...troubles(run), ...failed, ...(error ? [`${error.name}: ${error.message}`] : [])];
  return lines.join(", ");
}

export function taskJson({
  name,
  run,
  state,
  causes,
  attempts,
  owner,
  error,
}: TaskStatus): Readonly<Record<string, unknown>> {
  return {
    name,
    ...runJson(run),
    state,
    causes,
    attempts,
    error: error && { name: error.name, message: error.message, ...(error.code !== undefined && { code: error.code }) },
    holder: run.owner !== null && owner ? nameOf(owner) : null,
    lastHolder: owner,
  };
}
