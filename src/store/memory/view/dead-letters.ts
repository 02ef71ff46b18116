// Dead letters of the memory store: listed by their ends, grouped by the code of their errors.

import type { Payload } from "../../../kernel/codec/payload.js";
import {
  DEAD_EXAMPLES,
  DEAD_STATES,
  type DeadGroup,
  type DeadLetterRequest,
  type DeadLetterRow,
  type DeadState,
} from "../../contract/view/dead-letters.js";
import type { Counted } from "../../contract/view/views.js";
import { journalEntry } from "../journal/read-journal.js";
import { toMs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import type { Placed } from "./page-after.js";

type Request = DeadLetterRequest & { readonly code?: string };

export function deadLetters(tables: Tables, request: Request): Placed<DeadLetterRow>[] {
  const { env, program, queue, code, states = DEAD_STATES } = request;
  const isAsked = ({ group, state, endedAtUs, archivedAtUs }: RunRow) =>
    group.env === env &&
    (program === undefined || group.program === program) &&
    (queue === undefined || group.queue === queue) &&
    states.includes(state as DeadState) &&
    endedAtUs !== null &&
    archivedAtUs === null;
  return [...tables.runs.values()]
    .filter(isAsked)
    .sort((a, b) => b.endedAtUs! - a.endedAtUs! || compareText(b.id, a.id))
    .map((run) => ({ place: `${run.endedAtUs}/${run.id}`, row: letterOf(tables, run) }))
    .filter(({ row }) => code === undefined || row.code === code);
}

function letterOf(tables: Tables, { id, group, state, endedAtUs, seq }: RunRow): DeadLetterRow {
  const last = tables.journal.get(id)?.get(seq);
  return {
    runId: id,
    program: group.program,
    queue: group.queue,
    state: state as DeadState,
    endedAt: toMs(endedAtUs!),
    code: codeOf(last?.payload ?? null),
    entry: last ? journalEntry(last) : null,
  };
}

/** Escapes that PostgreSQL cannot decode. */
const UNREADABLE = /\\u(0000|d[89a-f])/i;

function codeOf(payload: Payload | null): string | null {
  if (payload?.codec !== "json" || UNREADABLE.test(payload.data)) return null;
  const stored = JSON.parse(payload.data) as { code?: unknown; name?: unknown } | null;
  const found = stored?.code ?? stored?.name ?? null;
  return found === null ? null : typeof found === "string" ? found : JSON.stringify(found);
}

export function deadGroups(
  tables: Tables,
  { after: _, ...request }: DeadLetterRequest,
): { readonly groups: readonly DeadGroup[]; readonly looked: Counted } {
  const found = deadLetters(tables, request);
  const groups = new Map<string, DeadGroup>();
  for (const { row } of found.slice(0, request.limit)) {
    const { program, state, code, endedAt, runId } = row;
    const key = JSON.stringify([program, state, code]);
    const group = groups.get(key) ?? { program, state, code, n: 0, newest: endedAt, oldest: endedAt, examples: [] };
    const examples = group.examples.length < DEAD_EXAMPLES ? [...group.examples, runId] : group.examples;
    groups.set(key, { ...group, n: group.n + 1, oldest: endedAt, examples });
  }
  const order = (a: DeadGroup, b: DeadGroup) =>
    b.n - a.n || compareText(a.program, b.program) || compareText(a.state, b.state) || compareCodes(a.code, b.code);
  const looked = { n: Math.min(found.length, request.limit), atLeast: found.length > request.limit };
  return { groups: [...groups.values()].sort(order), looked };
}

function compareCodes(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareText(a, b);
}
