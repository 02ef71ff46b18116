// Starts the next generation of a run.

import type { RunRow } from "../table/rows.js";

/**
 * Another generation has another journal: every build may be tried again, as in the database's trigger forget_misfits.
 */
export function nextGeneration(row: RunRow): void {
  row.generation++;
  row.misfits = null;
}
