// Reads single entries of many runs at once: their inputs, or their ends.

import type { RunState } from "../../../kernel/run/run-state.js";
import { GIVEN, type Given, type Peek, type Peeked } from "../../contract/journal/journal.js";
import type { RunGlance } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { bool, IDS, rowset, uuid } from "../connection/rowset.js";
import { ENDED } from "../run/ended-states.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf } from "./read-journal.js";

const PEEKS = rowset<Peek>()({
  run_id: uuid(({ runId }) => runId),
  starts: bool(({ what }) => what === "start"),
});

export const peekJournals = statement(
  "peek_journals",
  "Reads the input or the end of each of several runs.",
  ({ schema: s }) => `
select w.ord::int, r.state, ${ENTRY_COLUMNS}
from ${PEEKS.from(1).as("w", "ord")}
cross join lateral (select state, seq, base_seq from ${s}.runs r where r.id = w.run_id limit 1) r
left join lateral (
  select * from ${s}.journal j
  where j.run_id = w.run_id and j.seq = case when w.starts then r.base_seq + 1 when r.state in ${ENDED} then r.seq end limit 1
) j on true`,
);

/** Of a long end, neither its codec nor its data is read. */
export const glanceRuns = statement(
  "glance_runs",
  "Reads state and short end of several runs.",
  ({ schema: s }) => `
select w.ord::int, r.state, r.seq as run_seq, r.misfits, ${ENTRY_COLUMNS}
from ${IDS.from(1).as("w", "ord")}
cross join lateral (select state, seq, misfits from ${s}.runs r where r.id = w.id limit 1) r
left join lateral (
  select * from ${s}.journal j
  where j.run_id = w.id and j.seq = case when r.state in ${ENDED} then r.seq end
    and coalesce(octet_length(j.data), 0) <= ${GIVEN.bytes} limit 1
) j on true`,
);

/**
 * The inputs of task `m`, as JSON in any order: for a claim, in whose snapshot the needs of a waiting task have ended.
 * One need too many is enough to know that there are too many.
 */
export const givenTo = (s: string, m: string) => `
  select json_agg(json_build_array(e.id, e.starts, r.state, j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
    case when octet_length(j.data) <= ${GIVEN.bytes} then j.data end, ${ms("j.at")}))
  from (
    select ${m}.parent_id as id, true as starts
    union all
    (select n.need_id, false from ${s}.run_needs n where n.run_id = ${m}.id limit ${GIVEN.needs + 1})
  ) e
  cross join lateral (select state, seq, base_seq from ${s}.runs r where r.id = e.id limit 1) r
  cross join lateral (
    select * from ${s}.journal j
    where j.run_id = e.id and j.seq = case when e.starts then r.base_seq + 1 when r.state in ${ENDED} then r.seq end limit 1
  ) j`;

/** The log of run `m`, as JSON in its order, if it is short and more than the input. */
export const shortLog = (s: string, m: string) => `
  select json_agg(json_build_array(j.seq, j.epoch, j.kind, j.name, j.key, j.codec,
    case when octet_length(j.data) <= ${GIVEN.bytes} then j.data end, ${ms("j.at")}) order by j.seq)
  from ${s}.journal j where j.run_id = ${m}.id and j.seq > ${m}.base_seq and j.seq <= ${m}.seq`;
export const hasShortLog = (m: string) => `${m}.seq - ${m}.base_seq between 2 and ${GIVEN.entries}`;

export type LogRow = readonly [
  seq: number,
  epoch: number,
  kind: string,
  name: string,
  key: string | null,
  codec: string | null,
  data: string | null,
  at: number,
];

/** Null when an entry is long or missing: reading the log then shows which. */
export function logOf(rows: readonly LogRow[] | null, { seq, baseSeq }: { seq: number; baseSeq: number }) {
  if (rows?.length !== seq - baseSeq || rows.some(([, , , , , codec, data]) => codec !== null && data === null))
    return null;
  return rows.map(([seq, epoch, kind, name, key, codec, data, at]) =>
    entryOf({ seq: String(seq), epoch: String(epoch), kind, name, key, codec, data, at }),
  );
}

export type GivenRow = readonly [runId: string, starts: boolean, state: RunState, ...entry: LogRow];

/** Of a long one the data was left out. */
export function givenOf(rows: readonly GivenRow[]): readonly Given[] {
  const hasTooMany = rows.filter(([, starts]) => !starts).length > GIVEN.needs;
  return rows
    .flatMap(([runId, starts, state, seq, epoch, kind, name, key, codec, data, at]): Given[] => {
      if ((codec !== null && data === null) || (hasTooMany && !starts)) return [];
      const entry = entryOf({ seq: String(seq), epoch: String(epoch), kind, name, key, codec, data, at });
      return [{ runId, what: starts ? "start" : "end", state, entry }];
    })
    .sort((a, b) => (a.what === b.what ? (a.runId < b.runId ? -1 : 1) : a.what === "start" ? -1 : 1));
}

export async function peek(db: Database, wanted: readonly Peek[]): Promise<readonly (Peeked | null)[]> {
  const rows = await db.run<EntryRow & { ord: number; state: RunState }>(peekJournals, PEEKS.arrays(wanted));
  const answers: (Peeked | null)[] = wanted.map(() => null);
  for (const row of rows) answers[row.ord - 1] = { state: row.state, entry: row.seq === null ? null : entryOf(row) };
  return answers;
}

interface GlanceRow extends EntryRow {
  ord: number;
  state: RunState;
  run_seq: string;
  misfits: string[] | null;
}

async function glance(db: Database, runIds: readonly string[]): Promise<readonly (RunGlance | null)[]> {
  const rows = await db.run<GlanceRow>(glanceRuns, IDS.arrays(runIds));
  const answers: (RunGlance | null)[] = runIds.map(() => null);
  for (const row of rows) {
    const end = row.seq === null ? null : entryOf(row);
    answers[row.ord - 1] = { state: row.state, seq: Number(row.run_seq), end, misfits: row.misfits };
  }
  return answers;
}

export const glances = { glance };
