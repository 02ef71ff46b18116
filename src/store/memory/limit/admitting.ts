// Sends notifications after admitting: to nodes about work, to the process about skipped runs, to the lines of woken
// runs.

import type { World } from "../../../kernel/world.js";
import type { Admission } from "../../contract/run/runs.js";
import { type Hearers, hintReady, tellSkipped } from "../node/attend.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { admitRuns } from "./admit-runs.js";

export interface Admitting {
  readonly admit: (whom: Admission) => number;
  /** Announces runs that became ready, and admits woken runs waiting in a line at once, as in the database. */
  readonly ringing: <T>(answer: T) => T;
  readonly tellReady: (runs: readonly RunRow[]) => void;
}

export function admitting(tables: Tables, hearers: Hearers, world: World): Admitting {
  const tellReady = (runs: readonly RunRow[]) => hintReady(hearers, tables, world, runs);
  const admit = (whom: Admission) => {
    const admitted = admitRuns(tables, whom).filter(({ state }) => state === "waiting");
    tellReady(admitted);
    tellSkipped(hearers, tables);
    if (tables.rung.size > 0) ringing(null);
    return admitted.length;
  };
  const ringing = <T>(answer: T): T => {
    tellReady([...tables.ready].filter(({ state }) => state === "waiting"));
    for (const { id, state } of tables.ready) if (state === "held") tables.rung.add(id);
    tables.ready.clear();
    const held = [...tables.rung].filter((id) => tables.runs.get(id)?.state === "held");
    tables.rung.clear();
    admit({ runIds: held });
    const left = [...tables.left];
    tables.left.clear();
    if (left.length > 0) admit({ runIds: left });
    return answer;
  };
  return { admit, ringing, tellReady };
}
