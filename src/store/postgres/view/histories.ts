// Views over journals and claims: outlines without payloads, open questions, reclaimed claims.

import type { RunState } from "../../../kernel/run/run-state.js";
import type { Holder, TakenBackAs } from "../../contract/claim/claims.js";
import type {
  Outline,
  OutlineEntry,
  OutlineRequest,
  Question,
  Takeover,
  ViewPage,
  ViewRequest,
} from "../../contract/view/views.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { bigint, bool, rowset, uuid } from "../connection/rowset.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf } from "../journal/read-journal.js";
import { ENDED } from "../run/ended-states.js";
import { microseconds, placeOf, VIEW_SAMPLES } from "./place.js";

const OUTLINES = rowset<OutlineRequest>()({
  run_id: uuid(({ runId }) => runId),
  after_seq: bigint(({ after }) => after),
  before_seq: bigint(({ before }) => before),
  most: bigint(({ limit }) => limit),
  backwards: bool(({ last }) => last === true),
});

/** A journal has no gaps, so that a number of entries is a range of sequences: no sort, and no payload is read. */
export const outlineJournals = statement(
  "outline_journals",
  "Reads journals without payloads, together with the states of their runs.",
  ({ schema: s }) => `
select w.ord::int, r.state, r.seq as run_seq, r.base_seq, r.held_key, j.seq, j.epoch, j.kind, j.name, j.key, j.codec, j.bytes, j.at
from ${OUTLINES.from(1).as("w", "ord")}
cross join lateral (
  select r.state, r.seq, r.base_seq,
    (select k.key from ${s}.run_keys k where k.hash = r.key_hash and k.run_id = r.id limit 1) as held_key, coalesce(w.after_seq, r.base_seq) as low, least(w.before_seq - 1, r.seq) as high
  from ${s}.runs r where r.id = w.run_id limit 1
) r
left join lateral (
  select j.seq, j.epoch, j.kind, j.name, j.key, j.codec, octet_length(j.data) as bytes, ${ms("j.at")} as at
  from ${s}.journal j
  where j.run_id = w.run_id
    and j.seq > case when w.backwards then greatest(r.low, r.high - w.most) else r.low end
    and j.seq <= case when w.backwards then r.high else least(r.high, r.low + w.most) end
) j on true
order by w.ord, j.seq`,
);

interface OutlineRow extends Omit<EntryRow, "data"> {
  ord: number;
  state: RunState;
  run_seq: string;
  base_seq: string;
  held_key: string | null;
  bytes: number | null;
}

export async function outline(db: Database, requests: readonly OutlineRequest[]): Promise<readonly (Outline | null)[]> {
  const rows = await db.run<OutlineRow>(outlineJournals, OUTLINES.arrays(requests));
  const answers: ((Outline & { readonly entries: OutlineEntry[] }) | null)[] = requests.map(() => null);
  for (const row of rows) {
    const { state, run_seq, base_seq, held_key: key, ord } = row;
    answers[ord - 1] ??= { state, seq: Number(run_seq), baseSeq: Number(base_seq), key, entries: [] };
    if (row.seq !== null) answers[ord - 1]!.entries.push(outlineEntry(row));
  }
  return answers;
}

function outlineEntry({ seq, epoch, kind, name, key, at, codec, bytes }: OutlineRow): OutlineEntry {
  return {
    seq: Number(seq),
    epoch: Number(epoch),
    kind,
    name,
    key,
    at,
    codec,
    bytes: codec === null ? null : (bytes ?? 0),
  };
}

/**
 * Down the index of live runs that have asked: those that ended are not looked at, however many. `offset 0` keeps the other tables
 * from being read first. A decision shares its key with the question's timeout (waitKey in replay/recorded.ts). A rewind leaves
 * the questions before it.
 */
export const openQuestions = query<ViewRequest>({
  name: "open_questions",
  purpose: "Lists the approvals that runs of an env ask for and that are not decided.",
  text({ schema: s }, { env, limit, after }) {
    const values: unknown[] = [env, limit + 1];
    const behind = after === undefined ? "" : `and r.id <= $3::uuid and (r.id, j.seq) < ($3::uuid, $4::bigint)`;
    if (after !== undefined) values.push(...placeOf(after, 2));
    const text = `
select r.id as run_id, g.program, g.stack, r.base_seq, ${ENTRY_COLUMNS}
from ${s}.runs r
cross join lateral (select g.program, g.stack from ${s}.claim_groups g where g.id = r.claim_group and g.env = $1 limit 1) g
cross join lateral (
  select j.* from ${s}.journal j where j.run_id = r.id and j.kind = 'approval.begun' and j.seq > r.base_seq offset 0
) j
cross join lateral (
  select 'wait:' || j.name || ':' || j.key || case when r.base_seq = 0 then '' else '@' || r.base_seq end as wait_key
) k
where r.asks and r.state not in ${ENDED} ${behind}
  and not exists (select from ${s}.inbox i where i.run_id = r.id and i.key = k.wait_key offset 0)
  and not exists (
    select from ${s}.journal t where t.run_id = r.id and t.seq > j.seq
      and (t.kind = 'take' and t.key = k.wait_key or t.kind = 'retried' and t.data is not null) offset 0
  )
order by r.id desc, j.seq desc limit $2`;
    return { text, values };
  },
  samples: VIEW_SAMPLES("00000000-0000-7000-8000-000000000000/1"),
});

interface QuestionRow extends EntryRow {
  run_id: string;
  program: string;
  stack: string;
  base_seq: string;
}

export async function questions(db: Database, request: ViewRequest): Promise<ViewPage<Question>> {
  const { limit } = request;
  const found = await db.runInOrder<QuestionRow, ViewRequest>(openQuestions, request);
  const rows = found.slice(0, limit).map((row): Question => {
    const { run_id, program, stack, base_seq } = row;
    return { runId: run_id, program, stack: stack || null, baseSeq: Number(base_seq), entry: entryOf(row) };
  });
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last ? `${last.runId}/${last.entry.seq}` : null };
}

export const listTakeovers = query<ViewRequest>({
  name: "list_takeovers",
  purpose: "Lists reclaimed claims, the newest first.",
  text({ schema: s }, { env, limit, after }) {
    const holder = (incarnation: string) => `(
    select json_build_object('incarnation', ${incarnation}, 'identity', max(n.identity), 'name', max(n.name))
    from ${s}.nodes n where n.incarnation = ${incarnation} having ${incarnation} is not null
  )`;
    const values: unknown[] = [env, limit + 1];
    const behind = `where (k.at, k.run_id, k.epoch) < (${microseconds("$3")}, $4::uuid, $5::bigint)`;
    if (after !== undefined) values.push(...placeOf(after, 3));
    const text = `
select k.run_id, g.program, k.epoch, ${ms("k.at")} as at, (extract(epoch from k.at) * 1000000)::bigint as at_us, k.outcome,
  ${holder("k.owner")} as holder, ${holder("k.by")} as by
from ${s}.reclaimed_claims k
cross join lateral (select r.claim_group from ${s}.runs r where r.id = k.run_id limit 1) r
cross join lateral (select g.program from ${s}.claim_groups g where g.id = r.claim_group and g.env = $1 limit 1) g
${after === undefined ? "" : behind}
order by k.at desc, k.run_id desc, k.epoch desc limit $2`;
    return { text, values };
  },
  samples: VIEW_SAMPLES("1/00000000-0000-7000-8000-000000000000/1"),
});

interface TakeoverRow {
  run_id: string;
  program: string;
  epoch: string;
  at: number;
  at_us: string;
  outcome: TakenBackAs;
  holder: Holder;
  by: Holder | null;
}

export async function takeovers(db: Database, request: ViewRequest): Promise<ViewPage<Takeover>> {
  const { limit } = request;
  const found = await db.runInOrder<TakeoverRow, ViewRequest>(listTakeovers, request);
  const shown = found.slice(0, limit);
  const rows = shown.map(({ run_id, program, epoch: of, at: when, outcome, holder, by }) => {
    return { runId: run_id, program, epoch: Number(of), at: when, from: holder, by, outcome };
  });
  const last = shown.at(-1);
  return { rows, next: found.length > limit && last ? `${last.at_us}/${last.run_id}/${last.epoch}` : null };
}
