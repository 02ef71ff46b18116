// Schedules: declared, decided once, listed, paused and resumed.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type {
  DueSchedules,
  Fire,
  FireAnswer,
  ScheduleDeclaration,
  ScheduleRecord,
  ScheduleStore,
} from "../../contract/schedule/schedules.js";
import { takeKey } from "../key/take-key.js";
import { takeProbe } from "../limit/breakers.js";
import type { Wakes } from "../node/wakes.js";
import { addRun } from "../run/add-run.js";
import { copyGroup } from "../run/group-table.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { ScheduleRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function memorySchedules(tables: Tables, wakes: Wakes): ScheduleStore {
  const meant = (env: string, name: string) =>
    [...tables.schedules.values()].filter(
      ({ id, group }) => group.env === env && (group.program === name || id === name),
    );
  return {
    declare: async (declaration) => declare(tables, declaration),
    due: async (ids) => due(tables, ids),
    fire: async (fires) => {
      const { answers, started } = fire(tables, fires);
      wakes.started(started);
      return answers;
    },
    async list(env) {
      const rows = [...tables.schedules.values()].filter(({ group }) => group.env === env);
      return { now: toMs(tables.nowUs()), schedules: rows.sort(byName).map(scheduleRecord) };
    },
    async pause(env, name, by) {
      const rows = meant(env, name);
      for (const row of rows.filter(({ pausedAtUs }) => pausedAtUs === null)) {
        Object.assign(row, { pausedAtUs: tables.nowUs(), pausedBy: by });
      }
      return rows.length;
    },
    async resume(env, name) {
      const rows = meant(env, name);
      for (const row of rows) Object.assign(row, { pausedAtUs: null, pausedBy: null });
      return rows.length;
    },
  };
}

function declare(tables: Tables, declaration: ScheduleDeclaration): string[] {
  const { env, programs, schedules, removeAfterMs } = declaration;
  const stack = declaration.stack ?? null;
  const nowUs = tables.nowUs();
  const declared = schedules.map(({ id, group, key, spec }) => {
    const name = joinKey(env, stack, group.program, key);
    const known = tables.schedules.get(name);
    if (known) Object.assign(known, { group: copyGroup(group), spec, seenAtUs: nowUs });
    else tables.schedules.set(name, newRow({ id, group: copyGroup(group), key, spec }, nowUs));
    return name;
  });
  if (removeAfterMs !== null) {
    for (const [name, { group, seenAtUs }] of tables.schedules) {
      const ours = group.env === env && group.stack === stack && programs.includes(group.program);
      if (ours && seenAtUs <= nowUs - toUs(removeAfterMs) && !declared.includes(name)) tables.schedules.delete(name);
    }
  }
  return declared.map((name) => tables.schedules.get(name)!.id);
}

function newRow(row: Pick<ScheduleRow, "id" | "group" | "key" | "spec">, nowUs: number): ScheduleRow {
  const now = toMs(nowUs);
  return { ...row, anchorMs: now, lastMs: now, nextMs: now, pausedAtUs: null, pausedBy: null, seenAtUs: nowUs };
}

function due(tables: Tables, ids: readonly string[]): DueSchedules {
  const nowUs = tables.nowUs();
  const mine = [...tables.schedules.values()].filter(({ id, pausedAtUs }) => ids.includes(id) && pausedAtUs === null);
  const waits = mine.flatMap(({ nextMs }) => (nextMs !== null && toUs(nextMs) > nowUs ? toUs(nextMs) - nowUs : []));
  return {
    now: toMs(nowUs),
    schedules: mine
      .filter(({ nextMs }) => nextMs !== null && toUs(nextMs) <= nowUs)
      .sort((a, b) => compareText(a.id, b.id))
      .map(scheduleRecord),
    nextMs: waits.length > 0 ? Math.ceil(Math.min(...waits) / 1000) : null,
  };
}

function fire(tables: Tables, fires: readonly Fire[]): { answers: FireAnswer[]; started: NewRun[] } {
  const nowUs = tables.nowUs();
  const byId = new Map([...tables.schedules.values()].map((row) => [row.id, row]));
  const started: NewRun[] = [];
  let position = 0;
  const answers = fires.map(({ scheduleId, seenLast, last, next, runs, probe }): FireAnswer => {
    const row = byId.get(scheduleId);
    const moves = row !== undefined && row.lastMs === seenLast && row.pausedAtUs === null;
    if (moves) Object.assign(row, { lastMs: last, nextMs: next });
    const tries = moves && probe !== undefined && takeProbe(tables, probe);
    const runIds = runs.flatMap((run) => {
      const place = position++;
      // Already inserted: the answer to the first call was lost.
      if (!tables.runs.has(run.id)) {
        const { scope, key } = run.key!;
        if (!moves || (run.id === probe?.runId && !tries)) return [];
        if (tables.keys.has(joinKey(run.group.env, scope, key))) return [];
        takeKey(tables, { env: run.group.env, runId: run.id }, run.key!, nowUs);
        addRun(tables, run, { nowUs, position: place });
      }
      started.push(run);
      return run.id;
    });
    return moves || runIds.length > 0 ? { outcome: "fired", runIds } : { outcome: "moved" };
  });
  return { answers, started };
}

function byName(a: ScheduleRow, b: ScheduleRow): number {
  return (
    compareText(a.group.program, b.group.program) ||
    compareText(a.key, b.key) ||
    compareText(a.group.stack ?? "", b.group.stack ?? "")
  );
}

export function scheduleRecord(row: ScheduleRow): ScheduleRecord {
  const { id, group, key, spec, anchorMs, lastMs, nextMs, pausedAtUs, pausedBy, seenAtUs } = row;
  const paused = pausedAtUs === null ? null : { at: toMs(pausedAtUs), by: pausedBy! };
  return {
    id,
    group: copyGroup(group),
    key,
    spec,
    anchor: anchorMs,
    last: lastMs,
    next: nextMs,
    paused,
    seenAt: toMs(seenAtUs),
  };
}
