// Dead letters, read down the part of runs_ended that holds only them; their codes are read from the errors as stored.

import { omit } from "../../../kernel/omit.js";
import {
  DEAD_EXAMPLES,
  DEAD_STATES,
  type DeadGroup,
  type DeadLetterRequest,
  type DeadLetterRow,
  type DeadState,
} from "../../contract/view/dead-letters.js";
import type { Counted, ViewPage } from "../../contract/view/views.js";
import type { Database } from "../connection/database.js";
import { query } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf } from "../journal/read-journal.js";
import { ENDED_PARTS, endedPartOf } from "../run/ended-states.js";
import { microseconds, placeOf } from "./place.js";

type Request = DeadLetterRequest & { readonly code?: string };

/**
 * As errorClass in kernel/codec/recorded-error.ts. A text with an escape that PostgreSQL cannot decode has no code here: one bad
 * row must not fail the page.
 */
const CODE = `(case when j.codec = 'json' and j.data !~* '\\\\u(0000|d[89a-f])' then coalesce(j.data::json ->> 'code', j.data::json ->> 'name') end)`;

interface Part {
  readonly groups: string;
  readonly runs: string;
  readonly behind: string;
}

/** The conditions of a request; its values are added to the list. */
function conditions({ env, program, queue, states = DEAD_STATES, after }: Request, values: unknown[]): Part {
  const named = DEAD_STATES.filter((one) => states.includes(one)).map((one) => `'${one}'`);
  const equal = (column: string, value: string | undefined) =>
    value === undefined ? "" : ` and g.${column} = $${values.push(value)}`;
  const groups = `g.env = $${values.push(env)}${equal("program", program)}${equal("queue", queue)}`;
  const place = after === undefined ? null : placeOf(after, 2);
  const behind =
    place === null
      ? ""
      : ` and (r.ended_at, r.id) < (${microseconds(`$${values.push(place[0])}`)}, $${values.push(place[1])}::uuid)`;
  return {
    groups,
    behind,
    runs: `${endedPartOf("r")} = ${ENDED_PARTS.trouble} and r.ended_at is not null and ${
      named.length > 0 ? `r.state in (${named.join(", ")})` : "false"
    }`,
  };
}

const LAST = (s: string) => `(select * from ${s}.journal j where j.run_id = r.id and j.seq = r.seq limit 1)`;

const EVERY = { env: "e", limit: 10, program: "p", queue: "q", states: ["failed"], code: "c" } as const;

export const listDead = query<Request>({
  name: "list_dead_letters",
  purpose: "Lists dead letters, the last to end first.",
  text({ schema: s }, request) {
    const values: unknown[] = [];
    const { groups, runs, behind } = conditions(request, values);
    const ofCode = request.code === undefined ? "" : `where ${CODE} = $${values.push(request.code)}`;
    const most = `$${values.push(request.limit + 1)}`;
    const text = `
select x.run_id, g.program, g.queue, x.state, ${ms("x.ended_at")} as ended_at,
  (extract(epoch from x.ended_at) * 1000000)::bigint as ended_us, x.code, x.seq, x.epoch, x.kind, x.name, x.key, x.codec, x.data, x.at
from ${s}.claim_groups g cross join lateral (
  select r.id as run_id, r.state, r.ended_at, ${CODE} as code, ${ENTRY_COLUMNS}
  from (
    select r.id, r.state, r.ended_at, r.seq from ${s}.runs r
    where r.claim_group = g.id and ${runs}${behind} order by r.ended_at desc, r.id desc
  ) r left join lateral ${LAST(s)} j on true ${ofCode} limit ${most}
) x
where ${groups} order by x.ended_at desc, x.run_id desc limit ${most}`;
    return { text, values };
  },
  samples: {
    "the first page": { env: "e", limit: 10 },
    "with every condition": { ...EVERY, after: "1/00000000-0000-7000-8000-000000000000" },
  },
});

export const groupDead = query<DeadLetterRequest>({
  name: "group_dead_letters",
  purpose: "Counts the last dead letters by program, state and error code.",
  text({ schema: s }, request) {
    const values: unknown[] = [];
    const { groups, runs } = conditions(omit(request, "after"), values);
    const most = `$${values.push(request.limit + 1)}`;
    const text = `
with letters as materialized (
  select r.id, r.state, r.ended_at, r.seq, g.program from ${s}.claim_groups g cross join lateral (
    select r.id, r.state, r.ended_at, r.seq from ${s}.runs r
    where r.claim_group = g.id and ${runs} order by r.ended_at desc, r.id desc limit ${most}
  ) r
  where ${groups} order by r.ended_at desc, r.id desc limit ${most}
), read as materialized (
  select r.*, row_number() over (order by r.ended_at desc, r.id desc) as n from letters r
)
select r.program, r.state, x.code, count(*)::int as n, ${ms("max(r.ended_at)")} as newest, ${ms("min(r.ended_at)")} as oldest,
  (array_agg(r.id order by r.n))[1:${DEAD_EXAMPLES}] as examples, (select count(*) from letters)::int as looked
from read r left join lateral ${LAST(s)} j on true cross join lateral (select ${CODE} as code) x
where r.n < ${most} group by r.program, r.state, x.code
order by 4 desc, r.program collate "C", r.state collate "C", x.code collate "C"`;
    return { text, values };
  },
  samples: { "of an env": { env: "e", limit: 10 } },
});

interface LetterRow extends EntryRow {
  run_id: string;
  program: string;
  queue: string;
  state: DeadState;
  ended_at: number;
  ended_us: string;
  code: string | null;
}

async function deadLetters(db: Database, request: Request): Promise<ViewPage<DeadLetterRow>> {
  const { limit } = request;
  const found = await db.runInOrder<LetterRow, Request>(listDead, request);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const rows = shown.map((row): DeadLetterRow => {
    const { run_id, program, queue, state, ended_at, code } = row;
    const entry = row.seq === null ? null : entryOf(row);
    return { runId: run_id, program, queue, state, endedAt: ended_at, code, entry };
  });
  return { rows, next: found.length > limit && last ? `${last.ended_us}/${last.run_id}` : null };
}

async function deadGroups(
  db: Database,
  request: DeadLetterRequest,
): Promise<{ readonly groups: readonly DeadGroup[]; readonly looked: Counted }> {
  const { limit } = request;
  const rows = await db.runInOrder<DeadGroup & { looked: number }, DeadLetterRequest>(groupDead, request);
  const looked = rows[0]?.looked ?? 0;
  const groups = rows.map(({ looked: _, ...group }) => group);
  return { groups, looked: { n: Math.min(looked, limit), atLeast: looked > limit } };
}

export const deadLetterViews = { deadLetters, deadGroups };
