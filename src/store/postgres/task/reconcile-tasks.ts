// Checks that runs which wait for tasks wait for as many as are open, and repairs those that do not.

import type { Reconciled } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { announce, type MovedRow } from "../limit/admit-runs.js";

const reconcileTasks = statement(
  "reconcile_tasks",
  "Repairs counts of tasks that do not match their rows.",
  ({ schema: s }) => `select id, claim_group, state, repaired from ${s}.reconcile_tasks($1::text, $2::text)`,
);

async function reconcile(
  db: Database,
  { env = null, stack = null }: { readonly env?: string | null; readonly stack?: string | null } = {},
): Promise<Reconciled> {
  const rows = await db.run<MovedRow & { repaired: boolean }>(reconcileTasks, [env, stack]);
  const repaired = rows.filter((row) => row.repaired);
  await announce(db, repaired);
  return { replayed: repaired.length, skipped: rows.length - repaired.length };
}

export const reconciliation = { reconcile };
