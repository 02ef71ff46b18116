// Reads a run's journal in order and refuses one with a gap.

import type { Payload } from "../../../kernel/codec/payload.js";
import { JournalCorrupt, type JournalEntry, type JournalPage } from "../../contract/journal/journal.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";

export const ENTRY_COLUMNS = `j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.data, ${ms("j.at")} as at`;

/** One snapshot: the run's sequence and its entries belong together. */
export const readJournal = statement(
  "read_journal",
  "Reads a run's journal together with its state.",
  ({ schema: s }) => `
with r as materialized (select id, seq, base_seq from ${s}.runs where id = $1)
select r.seq as run_seq, r.base_seq, ${ENTRY_COLUMNS}
from r left join lateral (
  select * from ${s}.journal j
  where j.run_id = r.id and j.seq > greatest($2::bigint, r.base_seq) and j.seq <= r.seq
  order by j.seq limit $3
) j on true
order by j.seq`,
);

export const lastSetEntry = statement(
  "last_set_entry",
  "Reads the last value that a run shows under a name.",
  ({ schema: s }) => `
select ${ENTRY_COLUMNS} from ${s}.journal j
where j.run_id = $1 and j.name = $2 and j.kind = 'set' order by j.run_id, j.name, j.seq desc limit 1`,
);

export async function lastSet(db: Database, runId: string, name: string): Promise<JournalEntry | null> {
  const [row] = await db.run<EntryRow>(lastSetEntry, [runId, name]);
  return row ? entryOf(row) : null;
}

interface Row extends EntryRow {
  run_seq: string;
  base_seq: string;
}

export interface EntryRow {
  seq: string | null;
  epoch: string;
  kind: string;
  name: string;
  key: string | null;
  codec: string | null;
  data: string | null;
  at: number;
}

export async function read(
  db: Database,
  runId: string,
  part: { after?: number; limit?: number } = {},
): Promise<JournalPage | null> {
  const { after = 0, limit } = part;
  const rows = await db.run<Row>(readJournal, [runId, after, limit ?? null]);
  const head = rows[0];
  if (!head) return null;
  const page = { seq: Number(head.run_seq), baseSeq: Number(head.base_seq) };
  const entries = rows.filter((row) => row.seq !== null).map(entryOf);
  const first = Math.max(after, page.baseSeq) + 1;
  const last = Math.min(page.seq, first - 1 + (limit ?? Number.POSITIVE_INFINITY));
  for (let seq = first; seq <= last; seq++) {
    if (entries[seq - first]?.seq !== seq) throw new JournalCorrupt(runId, seq);
  }
  return { ...page, entries };
}

export function entryOf({ seq, epoch, kind, name, key, codec, data, at }: EntryRow): JournalEntry {
  return { seq: Number(seq), epoch: Number(epoch), kind, name, key, payload: payloadOf(codec, data), at };
}

export function payloadOf(codec: string | null, data: string | null): Payload | null {
  return codec === null ? null : { codec, data: data ?? "" };
}
