// Pauses and resumes queues, and lists them with their waiting runs.

import type { RunState } from "../../../kernel/run/run-state.js";
import type { QueueRecord, QueueStore } from "../../contract/limit/queues.js";
import type { Wakes } from "../node/wakes.js";
import { toMs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function isPaused(tables: Tables, { group: { env, queue } }: RunRow): boolean {
  return tables.pausedQueues.has(joinKey(env, queue));
}

export function memoryQueues(tables: Tables, wakes: Wakes): QueueStore {
  return {
    async pause(env, queue, by) {
      const key = joinKey(env, queue);
      if (!tables.pausedQueues.has(key)) tables.pausedQueues.set(key, { env, queue, atUs: tables.nowUs(), by });
    },
    async resume(env, queue) {
      tables.pausedQueues.delete(joinKey(env, queue));
      wakes.ready(liveRuns(tables, env).filter(({ group }) => group.queue === queue));
    },
    list: async (env) => listQueues(tables, env),
  };
}

function liveRuns(tables: Tables, env: string): RunRow[] {
  return [...tables.runs.values()].filter(({ group, endedAtUs }) => group.env === env && endedAtUs === null);
}

export function listQueues(tables: Tables, env: string): QueueRecord[] {
  const runs = liveRuns(tables, env);
  const paused = [...tables.pausedQueues.values()].filter((row) => row.env === env);
  const names = new Set([...runs.map(({ group }) => group.queue), ...paused.map(({ queue }) => queue)]);
  return [...names].sort(compareText).map((queue) => {
    const mine = runs.filter(({ group }) => group.queue === queue);
    const counts: Partial<Record<RunState, number>> = {};
    for (const { state } of mine) counts[state] = (counts[state] ?? 0) + 1;
    const pause = paused.find((row) => row.queue === queue);
    return {
      queue,
      counts,
      oldestWaitingMs: oldestWaitingMs(mine, tables.nowUs()),
      paused: pause ? { at: toMs(pause.atUs), by: pause.by } : null,
    };
  });
}

function oldestWaitingMs(runs: readonly RunRow[], nowUs: number): number | null {
  const due = runs.filter(({ state, availableAtUs }) => state === "waiting" && availableAtUs <= nowUs);
  return due.length === 0 ? null : toMs(nowUs - Math.min(...due.map(({ availableAtUs }) => availableAtUs)));
}
