// A rowset makes the SQL and the arrays of a batch from one list of columns.

import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { Database } from "../../src/store/postgres/connection/database.js";
import { allStatements, dialect } from "../../src/store/postgres/connection/dialect.js";
import { bool, Folded, int, rowset, text, uuid } from "../../src/store/postgres/connection/rowset.js";
import "../../src/store/postgres/index.js";
import { testSchema } from "../harness/database.js";

interface Item {
  readonly id: string;
  readonly name: string | null;
}

const ITEMS = rowset<Item>()({
  id: uuid(({ id }) => id),
  name: text(({ name }) => name),
  place: int((_, index) => index),
  named: bool(({ name }) => name !== null),
});

describe("a rowset", () => {
  test("has one array per column, also without items", () => {
    const items = [
      { id: "a", name: "x" },
      { id: "b", name: null },
    ];
    expect(ITEMS.arrays(items)).toEqual([
      ["a", "b"],
      ["x", null],
      [0, 1],
      [true, false],
    ]);
    expect(ITEMS.arrays([])).toEqual([[], [], [], []]);
  });

  test("unnests its parameters behind sub-selects, under its names", () => {
    const at3 = ITEMS.from(3);
    expect(at3.only("id", "named").as("w")).toBe("unnest((select $3::uuid[]), (select $6::bool[])) as w(id, named)");
    expect(at3.only("name").as("w", "ord")).toBe("unnest((select $4::text[])) with ordinality as w(name, ord)");
    expect(at3.as("w")).toContain("as w(id, name, place, named)");
    expect(at3.names).toBe("id, name, place, named");
    expect(at3.next).toBe(7);
  });

  test("finds an element by the column's name", () => {
    expect(ITEMS.from(3).at("place", "w.ord")).toBe("($5::int[])[w.ord]");
    expect(ITEMS.from(3).array("id")).toBe("$3::uuid[]");
  });
});

describe("a rowset that folds", () => {
  interface Row {
    readonly id: number;
    readonly name: string | null;
    readonly flag: boolean | null;
  }
  const ROWS = rowset<Row>({ folds: true })({
    id: int(({ id }) => id),
    name: text(({ name }) => name),
    flag: bool(({ flag }) => flag),
  });

  test("sends a column of equal values once, but never its first column", () => {
    const rows = [1, 1].map((id) => ({ id, name: "x", flag: null }));
    expect(ROWS.arrays(rows)).toEqual([[1, 1], new Folded("x"), new Folded(null)]);
    expect(ROWS.arrays(rows.slice(1))).toEqual([[1], ["x"], [null]]);
    expect(ROWS.arrays([])).toEqual([[], [], []]);
  });

  test("is nowhere used without its first column, which has an element for each row", () => {
    const uses = (text: string) => text.match(/\(select (u\.\w+, )?coalesce\(u\./g) ?? [];
    expect(uses(ROWS.from(1).as("w"))).toEqual(["(select u.id, coalesce(u."]);
    expect(uses(ROWS.from(1).only("name").as("w"))).toEqual(["(select coalesce(u."]);
    const all = allStatements().flatMap(({ text }) => uses(text(dialect("holdfast"))));
    expect(all.length).toBeGreaterThan(5);
    expect(all.filter((use) => use.startsWith("(select coalesce"))).toEqual([]);
  });

  const { url, schema } = testSchema();
  const limits = { connections: 1, transactions: 1, queryTimeoutMs: 5000, retryForMs: 0 };
  const db = new Database({ ...limits, world: systemWorld(), source: url, dialect: dialect(schema) });
  afterAll(() => db.close());

  test("arrives as it was sent, in rows and by place, with equal, different and missing values", async () => {
    const at = ROWS.from(1);
    const read = {
      name: "read_rows",
      purpose: "Reads rows.",
      text: () =>
        `select w.id, w.name, w.flag, w.ord::int as place, ${at.at("flag", "w.ord")} as at from ${at.as("w", "ord")} order by w.ord`,
    };
    const name = fc.constantFrom(null, "", "x", 'a "b"', "back\\slash", "{}", "NULL");
    const row = fc.record({ id: fc.nat(3), name, flag: fc.constantFrom(null, true, false) });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 5 }), async (rows) => {
        const answer = await db.run(read, ROWS.arrays(rows));
        expect(answer).toEqual(rows.map((one, i) => ({ ...one, place: i + 1, at: one.flag })));
      }),
    );
  });
});

test("no statement lists several arrays by hand, where the planner would guess their length", () => {
  const byHand = allStatements().filter(({ text }) => /unnest\(\s*\$\d+::\w+\[\]\s*,/.test(text(dialect("holdfast"))));
  expect(byHand.map(({ name }) => name)).toEqual([]);
});

test("every statement has a name of its own and a purpose in one sentence", () => {
  const titles = allStatements().map(({ name, sample = "" }) => `${name} ${sample}`);
  expect(titles.filter((title, i) => titles.indexOf(title) !== i)).toEqual([]);
  expect(allStatements().filter(({ purpose }) => !/^[A-Z][^.]*\.$/.test(purpose))).toEqual([]);
});
