// The audit of the PostgreSQL store: rows are written by the statements of the change, and listed by pages.

import { inAuditedCall } from "../../audited-call.js";
import type { AuditFilter, AuditPage, AuditRow, AuditStore } from "../../contract/audit/audit.js";
import type { Database } from "../connection/database.js";
import { query } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { auditValues, writeAudit } from "./audited-statement.js";

interface PageAsked {
  readonly filter: AuditFilter;
  readonly limit: number;
  readonly before?: string;
}

const listAudit = query<PageAsked>({
  name: "list_audit",
  purpose: "Lists a page of audit rows, the newest first.",
  text({ schema: s }, { filter, limit, before }) {
    const values: unknown[] = [filter.env];
    const equal = (column: string, value: string | undefined) =>
      value === undefined ? "" : ` and a.${column} = $${values.push(value)}`;
    const conditions = `${equal("by", filter.by)}${equal("action", filter.action)}${equal("object", filter.object)}`;
    const behind = before === undefined ? "" : ` and a.id < $${values.push(before)}::uuid`;
    const text = `
select a.id, ${ms("a.at")} as at, a.env, a.by, a.via, a.action, a.object, a.before, a.after, a.note, a.request
from ${s}.audit a where a.env = $1${conditions}${behind} order by a.id desc limit $${values.push(limit + 1)}`;
    return { text, values };
  },
  samples: {
    "of an env": { filter: { env: "e" }, limit: 10 },
    "with every condition": { filter: { env: "e", by: "b", action: "a", object: "o" }, limit: 10, before: "i" },
  },
});

export function auditStore(db: Database): AuditStore {
  return {
    async record(row, change) {
      const call = { row, written: false };
      const answer = await inAuditedCall(call, change);
      if (!call.written) await db.run(writeAudit, auditValues(row));
      return answer;
    },
    list: (filter, page) => list(db, filter, page),
  };
}

async function list(db: Database, filter: AuditFilter, page: Omit<PageAsked, "filter">): Promise<AuditPage> {
  const found = await db.runQuery<AuditRow, PageAsked>(listAudit, { filter, ...page });
  const rows = found.slice(0, page.limit);
  return { rows, next: found.length > page.limit ? rows.at(-1)!.id : null };
}
