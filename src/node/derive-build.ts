// The build of a node that was given none: a hash of its programs' code, the same in every process that has the same code.

import { createHash } from "node:crypto";

const DERIVED = "auto-";
/** Deeper than definitions are nested. */
const DEEPEST = 12;

/**
 * A hash of the source of every function in the programs, and of its place. Functions that those call in other files are not
 * included: give `build` (a commit, an image's digest) to distinguish such builds. Where two versions of code have the same build,
 * the store distinguishes them by node (`misfits`).
 */
export function deriveBuild(programs: readonly unknown[]): string {
  const hash = createHash("sha256");
  const seen = new Set<object>();
  const add = (path: string, value: unknown, depth: number): void => {
    if (typeof value === "function") hash.update(`${path}=${sourceOf(value)}\n`);
    else if (path.endsWith(".name") && typeof value === "string") hash.update(`${path}=${value}\n`);
    if (value === null || (typeof value !== "object" && typeof value !== "function")) return;
    if (seen.has(value) || depth > DEEPEST) return;
    seen.add(value);
    for (const [key, part] of partsOf(value)) add(`${path}.${key}`, part, depth + 1);
  };
  for (const program of programs) add("program", program, 0);
  return `${DERIVED}${hash.digest("hex").slice(0, 12)}`;
}

export function isDerived(build: string): boolean {
  return build.startsWith(DERIVED);
}

/** A schema is the user's library's: it may change while it is used. */
const LEFT_OUT = ["schema"];

function partsOf(value: object): [string, unknown][] {
  if (value instanceof Map) return [...value].map(([key, part]) => [String(key), part]);
  if (value instanceof Set) return [...value].map((part, i) => [String(i), part]);
  if (ArrayBuffer.isView(value)) return [];
  try {
    return Object.entries(value).filter(([key]) => !LEFT_OUT.includes(key));
  } catch {
    return []; // a getter of the user's that throws
  }
}

function sourceOf(value: object): string {
  try {
    return Function.prototype.toString.call(value);
  } catch {
    return "";
  }
}
