// The views of the memory store.

import { omit } from "../../../kernel/omit.js";
import type { RunFilter } from "../../contract/run/records.js";
import {
  type Counted,
  type EndedPage,
  type EndedRun,
  type LimitLine,
  MOST_ENVS,
  MOST_IN_LINE,
  type TimerView,
  type ViewRequest,
  type ViewStore,
} from "../../contract/view/views.js";
import { leaseRecord } from "../lease/leases.js";
import { timerRecord } from "../machine/instance-records.js";
import { getRun, matches } from "../run/list-runs.js";
import { toMs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { Tables } from "../table/tables.js";
import { deadGroups, deadLetters } from "./dead-letters.js";
import { outline, questions, takeovers } from "./histories.js";
import { type Placed, pageAfter } from "./page-after.js";

export function memoryViews(tables: Tables): ViewStore {
  return {
    runs: async (runIds) => ({ now: toMs(tables.nowUs()), runs: runIds.map((runId) => getRun(tables, runId)) }),
    count: async (filter, most) => count(tables, filter, most),
    outline: async (requests) => requests.map((request) => outline(tables, request)),
    questions: async (request) => pageAfter(questions(tables, request.env), request),
    takeovers: async (request) => pageAfter(takeovers(tables, request.env), request),
    leases: async ({ prefix = "", ...request }) => {
      const nowUs = tables.nowUs();
      const rows = [...tables.leases.values()]
        .filter(({ env, key }) => env === request.env && key.startsWith(prefix))
        .sort((a, b) => compareText(a.key, b.key))
        .map((row) => ({ place: row.key, row: omit(leaseRecord(row, nowUs), "token") }));
      return pageAfter(rows, request);
    },
    timers: async ({ state, ...request }) => pageAfter(timers(tables, request.env, state), request),
    waitsFor: async (runIds) => runIds.map((runId) => waitsFor(tables, runId)),
    envs: async () =>
      [...new Set([...tables.runs.values()].map(({ group }) => group.env))].sort(compareText).slice(0, MOST_ENVS),
    ended: async (request) => ended(tables, request),
    limits: async (request) => pageAfter(limits(tables, request.env), request),
    deadLetters: async (request) => pageAfter(deadLetters(tables, request), request),
    deadGroups: async (request) => deadGroups(tables, request),
  };
}

function waitsFor(tables: Tables, runId: string): string | null {
  const env = tables.runs.get(runId)?.group.env;
  const stage = tables.limits.get(runId)?.find(({ state }) => state === "waits");
  return env === undefined || !stage ? null : stage.key.slice(env.length + 1);
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

function ended(tables: Tables, { env, limit, after }: ViewRequest): EndedPage {
  if (after === undefined) return { rows: [], next: `${tables.nowUs()}/${FIRST_ID}` };
  const [fromUs, fromId] = after.split("/") as [string, string];
  const behind = (atUs: number, id: string) =>
    atUs > Number(fromUs) || (atUs === Number(fromUs) && compareText(id, fromId) > 0);
  const rows = [...tables.runs.values()]
    .flatMap((row) => (row.endedAtUs === null || row.archivedAtUs !== null ? [] : [{ row, atUs: row.endedAtUs }]))
    .filter(({ row, atUs }) => row.group.env === env && behind(atUs, row.id))
    .sort((a, b) => a.atUs - b.atUs || compareText(a.row.id, b.row.id))
    .slice(0, limit)
    .map(({ row, atUs }): EndedRun => {
      const { program, queue, stack } = row.group;
      const facts = { runId: row.id, program, queue, stack, parentId: row.parentId };
      return {
        ...facts,
        state: row.state as EndedRun["state"],
        at: Math.floor(toMs(atUs)),
        place: `${atUs}/${row.id}`,
      };
    });
  return { rows, next: rows.at(-1)?.place ?? after };
}

function count(tables: Tables, filter: RunFilter, most: number): Counted {
  const n = [...tables.runs.values()].filter((row) => matches(tables, row, filter)).length;
  return { n: Math.min(n, most), atLeast: n > most };
}

function timers(tables: Tables, env: string, state: "pending" | "dead"): Placed<TimerView>[] {
  return [...tables.timers.values()]
    .filter((row) => row.state === state && tables.groups.groupOf(row.groupId)?.env === env)
    .sort((a, b) => a.tryAtUs - b.tryAtUs || compareText(a.id, b.id))
    .flatMap((row) => {
      const instance = tables.instances.get(row.instanceKey)?.id;
      if (instance === undefined) return [];
      const machine = tables.groups.groupOf(row.groupId)!.program;
      return [{ place: `${row.tryAtUs}/${row.id}`, row: { ...omit(timerRecord(row), "payload"), machine, instance } }];
    });
}

function limits(tables: Tables, env: string): Placed<LimitLine>[] {
  const prefix = `${env}/`;
  const lines = new Map<string, { granted: number; waiting: number }>();
  for (const stage of [...tables.limits.values()].flat()) {
    if (!stage.key.startsWith(prefix) || (stage.state !== "granted" && stage.state !== "waits")) continue;
    const line = lines.get(stage.key) ?? { granted: 0, waiting: 0 };
    const name = stage.state === "granted" ? "granted" : "waiting";
    lines.set(stage.key, { ...line, [name]: Math.min(line[name] + 1, MOST_IN_LINE) });
  }
  return [...lines]
    .sort(([a], [b]) => compareText(a, b))
    .map(([full, line]) => ({ place: full.slice(prefix.length), row: { key: full.slice(prefix.length), ...line } }));
}
