// Begins the next generation of a run.

import type { RunRow } from "../table/rows.js";

/** Another generation has another log: all code may be tried on it again, as the database's trigger forget_misfits has it. */
export function nextGeneration(row: RunRow): void {
  row.generation++;
  row.misfits = null;
}
