// A rowset makes the SQL and the arrays of a batch from one list of columns.

import { describe, expect, test } from "vitest";
import { allStatements, dialect } from "../../src/store/postgres/connection/dialect.js";
import { bool, int, rowset, text, uuid } from "../../src/store/postgres/connection/rowset.js";
import "../../src/store/postgres/index.js";

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

test("no statement lists several arrays by hand, where the planner would guess their length", () => {
  const byHand = allStatements().filter(({ text }) => /unnest\(\s*\$\d+::\w+\[\]\s*,/.test(text(dialect("holdfast"))));
  expect(byHand.map(({ name }) => name)).toEqual([]);
});

test("every statement has a name of its own and a purpose in one sentence", () => {
  const titles = allStatements().map(({ name, sample = "" }) => `${name} ${sample}`);
  expect(titles.filter((title, i) => titles.indexOf(title) !== i)).toEqual([]);
  expect(allStatements().filter(({ purpose }) => !/^[A-Z][^.]*\.$/.test(purpose))).toEqual([]);
});
