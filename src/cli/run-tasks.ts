// The tasks of a run for `holdfast show`: state, holder, attempts, duration.

import type { Holder } from "../store/contract/claim/claims.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import { nameOf } from "./run-claims.js";
import { runJson } from "./run-json.js";
import { doing, type Surroundings, troubles } from "./run-situation.js";
import { STATE_COLOURS } from "./text/paint.js";
import type { Cell } from "./text/table.js";
import { span } from "./text/time-ago.js";

export interface ShownTask {
  readonly name: string;
  readonly run: RunRecord;
  /** Who holds the task, or held it last. */
  readonly holder: Holder | null;
}

/** Only the first tasks of a fan-out of thousands are shown; the journal has all ids. */
const MOST = 200;

export async function tasksOf(store: Store, entries: readonly JournalEntry[]): Promise<readonly ShownTask[]> {
  const started = entries.filter(({ kind }) => kind === "task").slice(0, MOST);
  const tasks = started.map(async ({ name, key }) => {
    const [run, [claim]] = await Promise.all([store.runs.get(key!), store.runs.claims(key!, { limit: 1 })]);
    return run ? [{ name, run, holder: claim?.holder ?? null }] : [];
  });
  return (await Promise.all(tasks)).flat();
}

export function taskCells({ name, run, holder }: ShownTask, around: Surroundings, now: number): Cell[] {
  const took =
    run.endedAt === null
      ? ""
      : `${span(Math.max(run.endedAt - run.availableAt, 0))} after it was ready${holder ? `, by ${nameOf(holder)}` : ""}`;
  const waits = run.pending > 0 ? `waits for ${run.pending}` : doing(run, around, now);
  return [
    name,
    { text: run.state, colour: STATE_COLOURS[run.state] },
    run.endedAt === null ? waits : took,
    run.epoch === 0 ? "" : `${run.epoch} ${run.epoch === 1 ? "claim" : "claims"}`,
    troubles(run).join(", "),
    run.id,
  ];
}

export function taskJson({ name, run, holder }: ShownTask): Readonly<Record<string, unknown>> {
  return { name, ...runJson(run), holder: run.owner !== null && holder ? nameOf(holder) : null, lastHolder: holder };
}
