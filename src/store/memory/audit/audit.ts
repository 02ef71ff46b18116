// The audit of the memory store: the row is written in the turn in which the change begins.

import type { AuditPage, AuditRow, AuditStore } from "../../contract/audit/audit.js";
import { toMs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { AuditTableRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function memoryAudit(tables: Tables): AuditStore {
  return {
    async record(row, change) {
      const isNew = !tables.audit.has(row.id);
      if (isNew) tables.audit.set(row.id, { ...row, atUs: tables.nowUs() });
      try {
        return await change();
      } catch (error) {
        if (isNew) tables.audit.delete(row.id);
        throw error;
      }
    },
    async list(filter, { limit, before }): Promise<AuditPage> {
      const { env, by, action, object } = filter;
      const found = [...tables.audit.values()]
        .filter(
          (row) =>
            row.env === env &&
            (by === undefined || row.by === by) &&
            (action === undefined || row.action === action) &&
            (object === undefined || row.object === object) &&
            (before === undefined || row.id < before),
        )
        .sort((a, b) => compareText(b.id, a.id));
      const rows = found.slice(0, limit).map(auditRow);
      return { rows, next: found.length > limit ? rows.at(-1)!.id : null };
    },
  };
}

function auditRow({ atUs, ...row }: AuditTableRow): AuditRow {
  return { ...row, at: toMs(atUs) };
}
