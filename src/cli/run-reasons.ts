// Why runs wait: the limit, the paused queue, the child or the question, and which step is under way. Read for one page of runs.

import { openWaits, WAIT_ENTRIES } from "../client/open-waits.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import type { OutlineEntry } from "../store/contract/view/views.js";
import { timeAgo } from "./text/time-ago.js";

export interface RunReasons {
  /** By run: the key of the limit that it waits for. */
  readonly limits: ReadonlyMap<string, string>;
  readonly pausedQueues: ReadonlyMap<string, string>;
  /** By run: its last entries, without payloads. */
  readonly last: ReadonlyMap<string, readonly OutlineEntry[]>;
}

export const NO_REASONS: RunReasons = { limits: new Map(), pausedQueues: new Map(), last: new Map() };

export async function reasonsOf(store: Store, env: string, runs: readonly RunRecord[]): Promise<RunReasons> {
  const held = runs.filter(({ state }) => state === "held").map(({ id }) => id);
  const working = runs.filter(({ state, pending }) => state === "running" || (state === "parked" && pending === 0));
  const waits = runs.some(({ state }) => state === "waiting");
  const [keys, queues, outlines] = await Promise.all([
    held.length > 0 ? store.views.waitsFor(held) : [],
    waits ? store.queues.list(env) : [],
    working.length > 0
      ? store.views.outline(working.map(({ id }) => ({ runId: id, limit: WAIT_ENTRIES, last: true })))
      : [],
  ]);
  return {
    limits: new Map(held.flatMap((id, i) => (keys[i] ? [[id, keys[i]] as const] : []))),
    pausedQueues: new Map(queues.flatMap(({ queue, paused }) => (paused ? [[queue, paused.by] as const] : []))),
    last: new Map(working.map(({ id }, i) => [id, outlines[i]?.entries ?? []])),
  };
}

const WAITS: Readonly<Record<string, string>> = {
  "sleep.begun": "sleeps:",
  "wait.begun": "waits for signal",
  "approval.begun": "asks for approval",
  enqueue: "waits for child",
};

/** What a parked run waits for, by its last entries; null: they do not show it. */
export function waitOf(entries: readonly OutlineEntry[]): string | null {
  const open = openWaits(entries);
  const last = open.at(-1);
  if (!last) return null;
  const more = open.length > 1 ? ` and ${open.length - 1} more` : "";
  return `${WAITS[last.kind]} ${last.name}${last.kind === "enqueue" ? ` ${last.key?.slice(0, 13)}` : ""}${more}`;
}

/** What was recorded last, and since when the run works on what follows. */
export function workOf(entries: readonly OutlineEntry[], now: number): string | null {
  const last = entries.at(-1);
  if (!last) return null;
  const since = timeAgo(last.at, now);
  if (last.kind === "step.begun") return `in step ${last.name} since ${since}`;
  if (last.kind === "step.tried" || last.kind === "transaction.tried")
    return `retries step ${last.name}, failed ${since}`;
  return last.name === "" || last.kind === "start"
    ? `in its first step since ${since}`
    : `after ${last.name}, ${since}`;
}
