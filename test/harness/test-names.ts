// The texts of a test file: its comments, and the strings that its test names are made of.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;
const STRING = /"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g;
/** The first argument of `test(` and the like, and of what `test.each(…)` returns. */
const NAME = /(?:\b(?:test|it|describe)(?:\.\w+)*|\))\(\s*("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;

export const commentsOf = (text: string): readonly string[] => text.match(COMMENT) ?? [];

export const namesOf = (text: string): readonly string[] =>
  [...text.replace(COMMENT, "").matchAll(NAME)]
    .map(([, name]) => name!.slice(1, -1))
    .filter((name) => name.includes(" "));

/** A test file and what it imports from test/ and src/testing/. */
export function filesOf(file: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const [, path] of codeOf(name).matchAll(/from\s+"(\.[^"]+)\.js"/g)) {
      const next = relative(ROOT, join(ROOT, dirname(name), `${path}.ts`));
      if (/^(test|src\/testing)\//.test(next) && existsSync(join(ROOT, next))) visit(next);
    }
  };
  visit(file);
  return seen;
}

/** Without comments. Most planted bugs share their test files: each is read once. */
export function codeOf(name: string): string {
  const known = codes.get(name);
  if (known !== undefined) return known;
  const code = readFileSync(join(ROOT, name), "utf8").replace(COMMENT, "");
  codes.set(name, code);
  return code;
}
const codes = new Map<string, string>();

/** The strings of a test file and of what it imports: a shared suite brings its own test names. */
export function stringsOf(file: string): ReadonlySet<string> {
  const strings = new Set<string>();
  for (const name of filesOf(file)) {
    for (const [, double, single, template] of codeOf(name).matchAll(STRING)) {
      strings.add((double ?? single ?? template)!.replace(/\\(.)/g, "$1"));
    }
  }
  return strings;
}

/** Whether `vitest -t pattern` finds a test by each of the pattern's alternatives. */
export function selects(file: string, pattern: string): boolean {
  const strings = [...stringsOf(file)];
  return pattern.split("|").every((part) => strings.some((text) => text.includes(part)) || isFilledIn(strings, part));
}

/** Whether the part occurs where another string fills a placeholder: `%s` of a table, `${name}` of a template. */
function isFilledIn(strings: readonly string[], part: string): boolean {
  return strings
    .map((text) => text.split(/%[a-z]|\$\{[^}]*\}|\$\w+/))
    .some((pieces) =>
      pieces.slice(1).some((right, i) => strings.some((value) => `${pieces[i]}${value}${right}`.includes(part))),
    );
}
