// Lays out a statement for reading: CTEs and clauses on lines of their own, long lists broken. Only white space changes.

const WIDTH = 110;

type Item = string | readonly Item[];

/** Words that begin a clause, unless the word before makes them part of an expression. */
const CLAUSES = new Set(
  "with select insert update delete from where cross left join order group limit offset for returning union on set values".split(
    " ",
  ),
);
const NOT_AFTER: Readonly<Record<string, readonly string[]>> = {
  update: ["key", "for", "do"],
  from: ["delete", "distinct"],
  join: ["cross", "left"],
  set: ["update"],
  order: ["within"],
};
const ONLY_BEFORE: Readonly<Record<string, string>> = { left: "join", on: "conflict", group: "by", order: "by" };

export function formatSql(text: string): string {
  const tokens = text.match(/'(?:[^']|'')*'|"[^"]*"|[(),]|[^\s'"(),]+/g) ?? [];
  return broken(nest(tokens, { at: 0 }), 0).join("\n");
}

/** Groups in parentheses as lists. */
function nest(tokens: readonly string[], cursor: { at: number }): Item[] {
  const items: Item[] = [];
  while (cursor.at < tokens.length) {
    const token = tokens[cursor.at++]!;
    if (token === ")") return items;
    items.push(token === "(" ? nest(tokens, cursor) : token);
  }
  return items;
}

const NO_SPACE_BEFORE = /^(?:,|::|\[|\.|\])/;

function flat(items: readonly Item[]): string {
  let line = "";
  for (const item of items) {
    const part = typeof item === "string" ? item : `(${flat(item)})`;
    line += line === "" || NO_SPACE_BEFORE.test(part) || hugs(line, item) ? part : ` ${part}`;
  }
  return line;
}

/** A call's parenthesis follows its name at once; that of a CTE, a list or a condition follows a space. */
const KEYWORD_BEFORE =
  /(?:^|[\s(])(?:as|in|and|or|not|any|all|exists|select|from|where|when|then|else|on|conflict|materialized|values|lateral|by|limit|over|filter|set|array|with|union|join|using|case|\S*[=<>+*/|,-])$/;

function hugs(line: string, item: Item): boolean {
  return typeof item !== "string" && !KEYWORD_BEFORE.test(line) && !/ into \S+$/.test(line) && !/ as \w+$/.test(line);
}

function broken(items: readonly Item[], depth: number): string[] {
  return clausesOf(items).flatMap((clause) => layOut(clause, depth));
}

function clausesOf(items: readonly Item[]): Item[][] {
  const clauses: Item[][] = [];
  items.forEach((item, i) => {
    if (clauses.length === 0 || startsClause(items, i)) clauses.push([]);
    clauses.at(-1)!.push(item);
  });
  return clauses;
}

function startsClause(items: readonly Item[], i: number): boolean {
  const [before, word, after] = [items[i - 1], items[i], items[i + 1]];
  if (typeof word !== "string" || !CLAUSES.has(word) || after === "ordinality") return false;
  if (ONLY_BEFORE[word] !== undefined && after !== ONLY_BEFORE[word]) return false;
  if (word === "set" && typeof items[i - 2] === "string" && items[i - 2] === "do") return false;
  return typeof before !== "string" || !(NOT_AFTER[word] ?? []).includes(before);
}

/** One clause: on one line if it fits, else broken at its commas, its conditions, and at last inside its groups. */
function layOut(clause: readonly Item[], depth: number): string[] {
  const indent = "  ".repeat(depth);
  const line = flat(clause);
  if (indent.length + line.length <= WIDTH) return [indent + line];
  const ofCtes = clause[0] === "with";
  for (const breaks of [afterComma, beforeCase, beforeCondition]) {
    const pieces = split(clause, breaks);
    if (pieces.length > 1) {
      const lines =
        breaks === afterComma && !ofCtes && clause[0] !== "set" ? filled(pieces, WIDTH - indent.length - 2) : pieces;
      return lines.flatMap((piece, i) => layOut(piece, i === 0 || ofCtes ? depth : depth + 1));
    }
  }
  const longest = clause.reduce<number>((best, item, i) => {
    if (typeof item === "string") return best;
    return best === -1 || flat(item).length > flat(clause[best] as readonly Item[]).length ? i : best;
  }, -1);
  if (longest === -1) return [indent + line];
  const head = flat([...clause.slice(0, longest), []]).slice(0, -1);
  const tail = flat(clause.slice(longest + 1));
  const close = `)${tail === "" || NO_SPACE_BEFORE.test(tail) ? tail : ` ${tail}`}`;
  return [indent + head, ...broken(clause[longest] as readonly Item[], depth + 1), indent + close];
}

/** Pieces of a list, as many on a line as fit. */
function filled(pieces: readonly Item[][], width: number): Item[][] {
  const lines: Item[][] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last && flat([...last, ...piece]).length <= width) last.push(...piece);
    else lines.push([...piece]);
  }
  return lines;
}

type Break = (items: readonly Item[], i: number) => boolean;

const afterComma: Break = (items, i) => items[i - 1] === ",";
const beforeCondition: Break = (items, i) => items[i] === "or" || (items[i] === "and" && items[i - 2] !== "between");
const beforeCase: Break = (items, i) => items[i] === "when" || items[i] === "else";

function split(items: readonly Item[], breaks: Break): Item[][] {
  const pieces: Item[][] = [[]];
  items.forEach((item, i) => {
    if (i > 0 && breaks(items, i)) pieces.push([]);
    pieces.at(-1)!.push(item);
  });
  return pieces;
}
