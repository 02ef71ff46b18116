// After an operation: whoever has become ready is told of, and whoever was rung into a line is looked after at once, as whoever
// rings in the database does.

import type { Admission } from "../contract/runs.js";
import type { RunRow } from "./rows.js";
import type { Tables } from "./tables.js";

export function lookAfter(
  tables: Tables,
  tellReady: (runs: readonly RunRow[]) => void,
  admit: (whom: Admission) => number,
): void {
  tellReady([...tables.ready].filter(({ state }) => state === "waiting"));
  for (const { id, state } of tables.ready) if (state === "held") tables.rung.add(id);
  tables.ready.clear();
  const held = [...tables.rung].filter((id) => tables.runs.get(id)?.state === "held");
  tables.rung.clear();
  admit({ runIds: held });
}
