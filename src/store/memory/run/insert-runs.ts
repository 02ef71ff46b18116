// Inserts runs: each once per id, and once per key while that key is taken.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import { keyHolder, takeKey } from "../key/take-key.js";
import type { Tables } from "../table/tables.js";
import { addRun } from "./add-run.js";

export function insertRuns(tables: Tables, runs: readonly NewRun[]): readonly InsertAnswer[] {
  const nowUs = tables.nowUs();
  // Of runs with one id the first counts.
  const answered = new Map<string, InsertAnswer>();
  return runs.map((run) => {
    const answer = answered.get(run.id) ?? insertRun(tables, run, nowUs, answered.size);
    answered.set(run.id, answer);
    return answer;
  });
}

function insertRun(tables: Tables, run: NewRun, nowUs: number, position: number): InsertAnswer {
  const { id, key } = run;
  if (tables.runs.has(id)) return { outcome: "inserted", runId: id };
  if (key) {
    const holder = keyHolder(tables, run.group.env, key, nowUs);
    if (holder) {
      const same = holder.payloadHash === key.payloadHash || key.onMismatch === "skip";
      return { outcome: same ? "existing" : "conflict", runId: holder.runId };
    }
    takeKey(tables, { env: run.group.env, runId: id }, key, nowUs);
  }
  addRun(tables, run, { nowUs, position });
  return { outcome: "inserted", runId: id };
}
