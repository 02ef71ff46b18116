// Sends notifications after admitting: to nodes about work, to the process about skipped runs, to the lines of woken
// runs.

import type { World } from "../../../kernel/world.js";
import type { Admission } from "../../contract/run/runs.js";
import { type NodeListeners, reportSkipped, wakeReady } from "../node/attend.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { admitRuns } from "./admit-runs.js";

export interface Admitting {
  readonly admit: (whom: Admission) => number;
  /** Announces runs that became ready, and admits woken runs waiting in a line at once, as in the database. */
  readonly withWakes: <T>(answer: T) => T;
  readonly announceReady: (runs: readonly RunRow[]) => void;
}

export function admitting(tables: Tables, listeners: NodeListeners, world: World): Admitting {
  const announceReady = (runs: readonly RunRow[]) => wakeReady(listeners, tables, world, runs);
  const admit = (whom: Admission) => {
    const admitted = admitRuns(tables, whom).filter(({ state }) => state === "waiting");
    announceReady(admitted);
    reportSkipped(listeners, tables);
    if (tables.woken.size > 0) withWakes(null);
    return admitted.length;
  };
  const withWakes = <T>(answer: T): T => {
    announceReady([...tables.ready].filter(({ state }) => state === "waiting"));
    for (const { id, state } of tables.ready) if (state === "held") tables.woken.add(id);
    tables.ready.clear();
    const held = [...tables.woken].filter((id) => tables.runs.get(id)?.state === "held");
    tables.woken.clear();
    admit({ runIds: held });
    const left = [...tables.left];
    tables.left.clear();
    if (left.length > 0) admit({ runIds: left });
    return answer;
  };
  return { admit, withWakes, announceReady };
}
