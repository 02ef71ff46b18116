// Looks up the numbers of claim groups, and the limits declared for them.

import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import { checkGroup } from "../../check/run/run.js";
import type { Tables } from "../table/tables.js";

export function groupIds(tables: Tables, groups: readonly RunGroup[]): readonly number[] {
  for (const [i, group] of groups.entries()) {
    const error = checkGroup(`groups[${i}]`, group);
    if (error) throw error;
  }
  return groups.map((group) => tables.groups.idOf(group));
}

export function limitsOf(tables: Tables, group: RunGroup): readonly LimitRule[] {
  groupIds(tables, [group]);
  return tables.groups.limitsOf(group);
}
