// A value template, as data: { "url": { "$": "needs.fetch.url" } } is filled from a DAG's input and the results of the
// needs.

import { InvalidInput } from "../kernel/error.js";
import { parsePath, valueAt } from "../kernel/input-path.js";

const ROOTS = ["input", "needs"];
const DEEPEST = 32;

export interface Sources {
  readonly input: unknown;
  readonly needs: unknown;
}

/** Throws InvalidInput with the path of a placeholder that nothing could fill. */
export function checkTemplate(path: string, value: unknown, needs: readonly string[], depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > DEEPEST) throw new InvalidInput(path, `is deeper than ${DEEPEST}`);
  const gap = gapIn(value);
  if (gap !== undefined) return void checkSource(path, gap, needs);
  for (const [name, part] of Object.entries(value)) checkTemplate(`${path}.${name}`, part, needs, depth + 1);
}

/** `needs.fetch.url`, `input.resourceId`: where a value comes from. */
export function checkSource(path: string, source: unknown, needs: readonly string[]): readonly string[] {
  const names = parsePath(source, path);
  const [root, need] = names;
  if (!ROOTS.includes(root!)) throw new InvalidInput(path, `must begin with ${ROOTS.join(" or ")}`);
  if (root === "needs" && need !== undefined && !needs.includes(need))
    throw new InvalidInput(path, `names ${JSON.stringify(need)}, which is not among its needs`);
  return names;
}

/** A missing value is undefined. */
export function fillTemplate(value: unknown, sources: Sources): unknown {
  if (typeof value !== "object" || value === null) return value;
  const gap = gapIn(value);
  if (gap !== undefined) return valueAt(sources, (gap as string).split("."));
  if (Array.isArray(value)) return value.map((part) => fillTemplate(part, sources));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, fillTemplate(part, sources)]));
}

function gapIn(value: object): unknown {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === "$" ? (value as { $: unknown }).$ : undefined;
}
