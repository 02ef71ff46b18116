// Reads single entries of many runs at once: their inputs, or what they ended with.

import { isUuid } from "../../kernel/id.js";
import type { RunState } from "../../kernel/run-state.js";
import type { Peek, Peeked } from "../contract/journal.js";
import { unnest } from "./batch.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { ENDED } from "./ended-states.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf } from "./read-journal.js";

export const peekJournals = statement(
  "peek_journals",
  ({ schema: s }) => `
select w.ord::int, r.state, ${ENTRY_COLUMNS}
from ${unnest(1, ["uuid", "bool"])} with ordinality as w(run_id, starts, ord)
cross join lateral (select state, seq, base_seq from ${s}.runs r where r.id = w.run_id limit 1) r
left join lateral (
  select * from ${s}.journal j
  where j.run_id = w.run_id and j.seq = case when w.starts then r.base_seq + 1 when r.state in ${ENDED} then r.seq end limit 1
) j on true`,
);

export async function peek(db: Database, wanted: readonly Peek[]): Promise<readonly (Peeked | null)[]> {
  const known = wanted.map(({ runId }) => (isUuid(runId) ? runId : null));
  const values = [known, wanted.map(({ what }) => what === "start")];
  const rows = await db.run<EntryRow & { ord: number; state: RunState }>(peekJournals, values);
  const answers: (Peeked | null)[] = wanted.map(() => null);
  for (const row of rows) answers[row.ord - 1] = { state: row.state, entry: row.seq === null ? null : entryOf(row) };
  return answers;
}
