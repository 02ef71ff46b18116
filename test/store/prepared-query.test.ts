// A prepared statement of our own answers as the driver's does, asks for the columns once, and affects no other query when it fails.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OUR_TYPES } from "../../src/store/postgres/connection/column-types.js";
import { queryPrepared } from "../../src/store/postgres/connection/prepared-query.js";
import { testSchema } from "../harness/database.js";

const { url } = testSchema();
const pipelined = { pipeline: true } as pg.ClientConfig;
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: url, ...pipelined });
  await client.connect();
});
afterAll(() => client.end());

const timeoutMs = 5000;

test("values of all kinds come back as from the driver's own query with our types", async () => {
  const text = `select $1::text as words, $2::int as whole, $3::bigint as long, $4::float8 as real, $5::bool as yes,
    $6::text[] as list, $7::jsonb as json, $8::text as nothing, $9::timestamptz as at, null::int as none,
    array[1, null, 3] as holes, '"'::text as quote`;
  const values = [
    "Grüße, 世界 'x' \\ \"y\"",
    -7,
    "9007199254740993",
    0.1,
    true,
    '{a,"b c",NULL}',
    '{"a":[1]}',
    null,
    "2026-01-02T03:04:05.678Z",
  ];
  const ours = await queryPrepared(client, { name: "kinds", text, values, timeoutMs });
  const again = await queryPrepared(client, { name: "kinds", text, values, timeoutMs });
  const { rows } = await client.query({ text, values, types: OUR_TYPES });
  expect(ours).toEqual(rows);
  expect(again).toEqual(rows);
  // Times are read as text: they leave the store's statements as milliseconds.
  const { rows: theirs } = await client.query({ text, values });
  expect(rows).toEqual([{ ...theirs[0], at: expect.any(String) }]);
});

test("the columns are asked for once on a connection, and rows without any are counted", async () => {
  const { connection } = client as unknown as { connection: { describe: (message: unknown) => void } };
  const describe = connection.describe;
  let asked = 0;
  connection.describe = function (message) {
    asked++;
    describe.call(this, message);
  };
  const prepared = { name: "numbers", text: "select n from generate_series(1, $1::int) n", timeoutMs };
  for (const n of [2, 0, 3]) {
    const rows = await queryPrepared(client, { ...prepared, values: [n] });
    expect(rows).toEqual(Array.from({ length: n }, (_, i) => ({ n: i + 1 })));
  }
  connection.describe = describe;
  expect(asked).toBe(1);
});

test("a statement without a row description returns no rows, again and again", async () => {
  const prepared = { name: "nothing", text: "set application_name = 'prepared'", values: [], timeoutMs };
  expect(await queryPrepared(client, prepared)).toEqual([]);
  expect(await queryPrepared(client, prepared)).toEqual([]);
});

test("tracing tools may pass the driver an object derived from ours, with a callback of their own", async () => {
  const query = client.query;
  const seen: unknown[] = [];
  client.query = ((given: { callback: (...answer: unknown[]) => void }) => {
    const { callback } = given;
    const put = (...answer: unknown[]) => {
      seen.push(answer[1]);
      callback(...answer);
    };
    return Reflect.apply(query, client, [Object.create(given, { callback: { value: put, writable: true } })]);
  }) as typeof query;
  const prepared = { name: "traced", text: "select $1::int as n", values: [4], timeoutMs };
  const rows = [await queryPrepared(client, prepared), await queryPrepared(client, prepared)];
  client.query = query;
  expect(rows).toEqual([[{ n: 4 }], [{ n: 4 }]]);
  expect(seen).toEqual([{ rows: [{ n: 4 }] }, { rows: [{ n: 4 }] }]);
});

describe("a failing statement", () => {
  const divide = (by: number) =>
    queryPrepared<{ of: number }>(client, {
      name: "divide",
      text: "select 6 / $1::int as of",
      values: [by],
      timeoutMs,
    });

  test("rejects with the server's code; the statements before and after it on the connection are answered", async () => {
    const answers = await Promise.allSettled([divide(3), divide(0), divide(2)]);
    expect(answers).toMatchObject([
      { status: "fulfilled", value: [{ of: 2 }] },
      { status: "rejected", reason: { code: "22012" } },
      { status: "fulfilled", value: [{ of: 3 }] },
    ]);
  });

  test("that fails to parse is prepared again the next time", async () => {
    const prepared = { name: "later", text: "select n from pg_temp.later", values: [], timeoutMs };
    await expect(queryPrepared(client, prepared)).rejects.toMatchObject({ code: "42P01" });
    await client.query("create temp table later as select 1 as n");
    expect(await queryPrepared(client, prepared)).toEqual([{ n: 1 }]);
  });

  test("with a value that cannot be parsed rejects, and the connection keeps working", async () => {
    const parse = vi.spyOn(JSON, "parse").mockImplementationOnce(() => {
      throw new RangeError("unreadable");
    });
    const prepared = { name: "unreadable", text: "select '{}'::json as j", values: [], timeoutMs };
    await expect(queryPrepared(client, prepared)).rejects.toThrow("unreadable");
    parse.mockRestore();
    expect(await divide(1)).toEqual([{ of: 6 }]);
  });

  test("that takes too long rejects and ends its connection", async () => {
    const slow = new pg.Client({ connectionString: url, ...pipelined });
    slow.on("error", () => {});
    await slow.connect();
    const prepared = { name: "slow", text: "select pg_sleep($1::int)", values: [20], timeoutMs: 100 };
    await expect(queryPrepared(slow, prepared)).rejects.toThrow("Query read timeout");
    await expect(queryPrepared(slow, prepared)).rejects.toThrow();
    await slow.end();
  });
});
