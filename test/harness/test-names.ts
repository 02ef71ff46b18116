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

/** The strings of a test file and of what it imports from test/ and src/testing/: a shared suite brings its own test names. */
export function stringsOf(file: string): ReadonlySet<string> {
  const strings = new Set<string>();
  const seen = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const code = readFileSync(join(ROOT, name), "utf8").replace(COMMENT, "");
    for (const [, double, single, template] of code.matchAll(STRING)) {
      strings.add((double ?? single ?? template)!.replace(/\\(.)/g, "$1"));
    }
    for (const [, path] of code.matchAll(/from\s+"(\.[^"]+)\.js"/g)) {
      const next = relative(ROOT, join(ROOT, dirname(name), `${path}.ts`));
      if (/^(test|src\/testing)\//.test(next) && existsSync(join(ROOT, next))) visit(next);
    }
  };
  visit(file);
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
