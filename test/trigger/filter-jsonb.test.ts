// The memory store judges filters exactly as PostgreSQL's `jsonb @>` does.

import fc from "fast-check";
import { expect, test } from "vitest";
import { contains, filterable } from "../../src/kernel/contains.js";
import { filtersOf } from "../../src/trigger/filter.js";
import { testSchema } from "../harness/database.js";

const { pool } = testSchema();

const name = fc.constantFrom("a", "b", "c", "__proto__", "", "é", "\0");
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, 1, -1, 1.5, 1e21, 1e-7, 0.1, 2 ** 53, 1.7976931348623157e308, "", "1", "a"),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.string({ unit: "binary", maxLength: 3 }),
);
const odd = fc.constantFrom<unknown>(
  undefined,
  1n,
  Number.NaN,
  "\ud800",
  new Date(0),
  new Map([["a", 1]]),
  new Set([1]),
);
const payloads = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalar, odd, fc.array(tie("value"), { maxLength: 2 }), tie("object")),
  object: fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
}));
const filters = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalar, tie("object")),
  object: fc.dictionary(name, tie("value"), { maxKeys: 2, noNullPrototype: true }),
}));

/** One that `where` accepts, mostly built from parts of the payload. */
function filterOf(drawn: unknown, payload: unknown, own: boolean): unknown {
  const wanted = own ? part(filterable(payload)) : drawn;
  try {
    return filtersOf(wanted)[0];
  } catch {
    return {};
  }
}

function part(value: unknown): unknown {
  if (Array.isArray(value)) return null;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 2)
      .map(([key, one]) => [key, part(one)]),
  );
}

test("containment is that of jsonb, whatever the payload holds", async () => {
  const cases: { payload: string; filter: string; mine: boolean }[] = [];
  fc.assert(
    fc.property(payloads.object, filters.object, fc.boolean(), (payload, drawn, own) => {
      const plain = JSON.stringify(filterable(payload));
      const filter = JSON.stringify(filterOf(drawn, payload, own));
      cases.push({ payload: plain, filter, mine: contains(JSON.parse(plain), JSON.parse(filter)) });
    }),
    { numRuns: 3000 },
  );
  const { rows } = await pool.query<{ theirs: boolean }>(
    "select p::jsonb @> f::jsonb as theirs from unnest($1::text[], $2::text[]) with ordinality as x(p, f, ord) order by ord",
    [cases.map(({ payload }) => payload), cases.map(({ filter }) => filter)],
  );
  expect(cases.filter(({ mine }, i) => mine !== rows[i]!.theirs)).toEqual([]);
  expect(cases.filter(({ mine, filter }) => mine && filter !== "{}").length).toBeGreaterThan(100);
  expect(cases.filter(({ mine }) => !mine).length).toBeGreaterThan(100);
});
