// Answers the numbers that claims name groups by, and the limits that were declared for them.

import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Tables } from "../table/tables.js";

export function groupIds(tables: Tables, groups: readonly RunGroup[]): readonly number[] {
  return groups.map((group) => tables.groups.idOf(group));
}

export function limitsOf(tables: Tables, group: RunGroup): readonly LimitRule[] {
  tables.groups.idOf(group);
  return tables.groups.limitsOf(group);
}
