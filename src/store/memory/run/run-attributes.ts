// Search attributes of runs: written with the run, changed by its holder.

import { type Attributes, MOST_ATTRIBUTES } from "../../../kernel/run/attribute.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { AttributeAnswer, AttributeChange } from "../../contract/run/attributes.js";
import type { Tables } from "../table/tables.js";

export function noteAttributes(tables: Tables, { id, attributes = {} }: Pick<NewRun, "id" | "attributes">): void {
  if (Object.keys(attributes).length > 0) tables.attributes.set(id, { ...attributes });
}

export function setAttributes(tables: Tables, { runId, attributes }: AttributeChange): AttributeAnswer {
  if (!tables.runs.has(runId)) return { outcome: "unknown" };
  const all = Object.entries({ ...tables.attributes.get(runId), ...attributes });
  const kept = all.filter(([, value]) => value !== null);
  if (kept.length > MOST_ATTRIBUTES) return { outcome: "too many" };
  tables.attributes.set(runId, Object.fromEntries(kept) as Attributes);
  return { outcome: "set" };
}

export function attributesOf(tables: Tables, runId: string): Attributes | null {
  const found = tables.attributes.get(runId);
  return found && Object.keys(found).length > 0 ? { ...found } : null;
}
