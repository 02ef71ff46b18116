// Makes the first statement of an audited change write the audit row, too: both are committed together or not at all.

import type { NewAuditRow } from "../../contract/audit/audit.js";
import { type Dialect, type Statement, statement } from "../connection/dialect.js";

const COLUMNS = "id, at, env, by, via, action, object, before, after, note, request";

export const writeAudit = statement(
  "write_audit",
  "Writes an audit row.",
  (d) => `with ${auditPart(d, 1)} select from audited`,
);

/** A statement that may write. One that only reads is left as it is: the row belongs to the change. */
const WRITES = /\b(insert into|delete from|update\s+"?\w+"?\.\w+(\s+\w+)?\s+set)\b/i;
const BEGINS_WITH = /^\s*with(\s+recursive)?\s/i;

export function auditValues(row: NewAuditRow): unknown[] {
  const { id, env, by, via, action, object, before, after, note, request } = row;
  return [id, env, by, via, action, object, before, after, note, request];
}

const made = new Map<Statement, Statement>();

/** The statement with the audit row in front; the values of the row follow the `count` values of the statement. */
export function auditedStatement(of: Statement, count: number): Statement {
  const known = made.get(of);
  if (known) return known;
  const { name, purpose } = of;
  const audited: Statement = { name: `${name}_audited`, purpose, text: (d) => withAudit(d, of.text(d), count + 1) };
  made.set(of, audited);
  return audited;
}

/** Numbering a claim group prepares a change and is none itself. */
const PREPARES = new Set(["insert_groups"]);

export function isWriting(of: Statement, d: Dialect): boolean {
  return !PREPARES.has(of.name) && WRITES.test(of.text(d));
}

function withAudit(d: Dialect, text: string, first: number): string {
  const part = auditPart(d, first);
  if (!BEGINS_WITH.test(text)) return `with ${part} ${text}`;
  return text.replace(BEGINS_WITH, (_, recursive: string | undefined) => `with${recursive ?? ""} ${part}, `);
}

function auditPart({ schema: s, now }: Dialect, first: number): string {
  const texts = Array.from({ length: 9 }, (_, i) => `$${first + 1 + i}::text`);
  return `audited as (
  insert into ${s}.audit (${COLUMNS}) values ($${first}::uuid, ${now}, ${texts.join(", ")})
  on conflict (id) do nothing returning id
)`;
}
