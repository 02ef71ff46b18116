// All files that describe the API, by their names, and what has no comment.

import { formatted } from "./format.js";
import { indexOf, linksOf, pageOf } from "./pages.js";
import { reportOf } from "./report.js";
import { type Declared, type Doors, doorsOfPackage, readSurface } from "./surface.js";

export interface ApiFiles {
  readonly files: ReadonlyMap<string, string>;
  /** Public names and members that have no comment. */
  readonly bare: readonly string[];
}

/** `folder`: the emitted declarations. */
export function describeApi(folder: string, doors: Doors = doorsOfPackage()): ApiFiles {
  const entries = readSurface(folder, doors);
  const all = entries.flatMap(({ exported, behind }) => [...exported, ...behind]);
  const texts = formatted(all.flatMap(({ signatures }) => signatures));
  let next = 0;
  const signatures = new Map<Declared, string[]>();
  for (const one of all) {
    signatures.set(one, texts.slice(next, next + one.signatures.length));
    next += one.signatures.length;
  }
  const links = linksOf(entries);
  const files = new Map([["docs/api/README.md", indexOf(entries)]]);
  for (const entry of entries) {
    files.set(`docs/api/${entry.slug}.md`, pageOf(entry, signatures, links));
    files.set(`api/${entry.slug}.api.md`, reportOf(entry, signatures));
  }
  // An alias behind them is a calculation with types: an editor shows its outcome.
  const shown = entries.flatMap(({ exported, behind }) => [
    ...exported,
    ...behind.filter(({ kind }) => kind !== "type"),
  ]);
  return { files, bare: shown.flatMap((one) => bareIn(one, folder)) };
}

function bareIn({ name, kind, place, comment, members }: Declared, folder: string): string[] {
  const file = place.file.slice(folder.length + 1).replace(".d.ts", ".ts");
  const own = comment.text === "" ? [`${file}: ${kind} ${name}`] : [];
  // The comment of an alias speaks for its members.
  if (kind === "type") return own;
  const silent = members.filter((member) => member.comment.text === "" && member.comment.deprecated === null);
  return [...own, ...silent.map((member) => `${file}: ${name}.${member.name}`)];
}
