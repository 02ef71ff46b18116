// What nodes declare of their programs: limits, for whoever starts a run without having its code, and what becomes of orphans.

import type { LimitRule } from "../../kernel/limit-rule.js";
import type { RunGroup } from "../../kernel/new-run.js";
import type { DeclaredProgram } from "../contract/runs.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import type { Groups } from "./groups.js";

/** Rows that say so already are left alone: nodes that start together do not wait for each other. */
const declareLimits = statement(
  "declare_limits",
  ({ schema: s }) => `
with l as materialized (
  select g.id, d.limits, d.recovery from unnest($1::int[], $2::text[], $3::text[]) as d(id, limits, recovery)
  join ${s}.claim_groups g on g.id = d.id
  where g.limits <> d.limits or g.recovery is distinct from d.recovery order by g.id for no key update of g
)
update ${s}.claim_groups g set limits = l.limits, recovery = l.recovery from l where g.id = l.id`,
);

const readLimits = statement("read_limits", ({ schema: s }) => `select limits from ${s}.claim_groups where id = $1`);

export async function declare(db: Database, groups: Groups, programs: readonly DeclaredProgram[]): Promise<void> {
  if (programs.length === 0) return;
  const values = async () => {
    const ids = await groups.ids(programs.map(({ group }) => group));
    const limits = programs.map((program) => JSON.stringify(program.limits));
    return [ids, limits, programs.map(({ recovery = "resume" }) => recovery)];
  };
  await db.run(declareLimits, values);
}

export async function limitsOf(db: Database, groups: Groups, group: RunGroup): Promise<readonly LimitRule[]> {
  const [row] = await db.run<{ limits: string }>(readLimits, async () => groups.ids([group]));
  return row ? (JSON.parse(row.limits) as LimitRule[]) : [];
}
