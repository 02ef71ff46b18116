// Hints within this process: who inserts runs tells those who may work on them.

import type { NewRun } from "../../kernel/new-run.js";
import type { Attendance, Attendee } from "../contract/attend.js";
import type { Tables } from "./tables.js";

export type Hearers = Set<Attendee>;

export function attend(hearers: Hearers, attendee: Attendee): Attendance {
  hearers.add(attendee);
  return {
    seen: false,
    leave: async () => {
      hearers.delete(attendee);
    },
  };
}

export function hint(hearers: Hearers, tables: Tables, runs: readonly NewRun[]): void {
  if (hearers.size === 0) return;
  const known = runs.filter((run) => tables.runs.has(run?.id));
  const groupIds = [...new Set(known.map(({ group }) => tables.groups.idOf(group)))];
  if (groupIds.length > 0) for (const { onHint } of hearers) onHint(groupIds);
}
