// Planner luck is not part of the design: without statistics and with stale ones, and with joins switched off, the hot
// statements read only their rows, on the newest server and on an older one.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { claimRuns } from "../../../src/store/postgres/claim/claim-runs.js";
import { commitRunsAndMore } from "../../../src/store/postgres/claim/commit.js";
import { commitAndMoreColumns, refusedColumns } from "../../../src/store/postgres/claim/commit-columns.js";
import { refusedCommits } from "../../../src/store/postgres/claim/refused-commits.js";
import { dialect } from "../../../src/store/postgres/connection/dialect.js";
import { openPostgres } from "../../../src/store/postgres/open.js";
import { describeWithOlderServer, type OlderServer, olderServer } from "../../harness/older-server.js";
import { claimNew, commitOf, newRuns } from "../scene.js";
import { expectGoodPlans, expectPlansStayGood } from "./planner-check.js";
import { explain } from "./planner-explain.js";
import { analyze, fill, ONE_GROUP, withoutAutovacuum } from "./planner-tables.js";

const SIZE = { ended: 50_000, waiting: 12_000 };

describe("the newest server", () => {
  suite(async () => ({ url: inject("databaseUrl"), stop: async () => {} }));
});
describeWithOlderServer("an older server", (binaries) => {
  suite(() => olderServer(binaries));
});

function suite(start: () => Promise<OlderServer>): void {
  let server: OlderServer;
  let pool: pg.Pool;
  const made: string[] = [];

  beforeAll(async () => {
    server = await start();
    pool = new pg.Pool({ connectionString: server.url, max: 3 });
    pool.on("error", () => {});
  });
  afterAll(async () => {
    for (const schema of made) await pool.query(`drop schema if exists ${schema} cascade`);
    await pool.end();
    await server.stop();
  });

  async function schemaFor(name: string): Promise<string> {
    const schema = `plans_${name}_${process.pid}`;
    made.push(schema);
    const store = openPostgres(server.url, { schema });
    await store.migrate();
    await store.close();
    await withoutAutovacuum(pool, schema);
    return schema;
  }

  test("hot statements read only their rows when nothing was ever analyzed", async () => {
    const schema = await schemaFor("fresh");
    await fill(pool, schema, SIZE);
    await expectGoodPlans(pool, server.url, dialect(schema));
  }, 60_000);

  test("hot statements read only their rows when the tables were analyzed empty and filled since", async () => {
    const schema = await schemaFor("idle");
    await analyze(pool, schema);
    await fill(pool, schema, SIZE);
    await expectGoodPlans(pool, server.url, dialect(schema));
  }, 60_000);

  test("hot statements that were planned while the tables were empty read only their rows when they are full", async () => {
    const schema = await schemaFor("grown");
    await expectPlansStayGood(pool, server.url, dialect(schema), () => fill(pool, schema, SIZE));
  }, 60_000);

  test("5,000 messages of one run are looked up one by one when nothing was ever analyzed", async () => {
    const messages = 5000;
    const schema = await schemaFor("takes");
    const store = openPostgres(server.url, { schema });
    const [claim] = await claimNew(store, 1);
    await store.close();
    await pool.query(
      `insert into ${schema}.inbox (run_id, key, message_id, kind, name, at)
       select $1, 'signal:' || n, md5('m' || n)::uuid, 'signal', 'go', now() from generate_series(1, ${messages}) n`,
      [claim!.runId],
    );
    const takes = Array.from(
      { length: messages },
      (_, n) => ({ kind: "take", messageKey: `signal:${n + 1}` }) as const,
    );
    const commits = [commitOf(claim!, ...takes)];
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const found: string[] = [];
    for (const mode of ["force_custom_plan", "force_generic_plan"] as const) {
      for (const { statement, values } of [
        { statement: commitRunsAndMore, values: await commitAndMoreColumns(ONE_GROUP, commits) },
        { statement: refusedCommits, values: refusedColumns(commits) },
      ]) {
        const { work } = await explain(client, statement.text(dialect(schema)), values, mode);
        // Read with the run instead of its key, each message is met as often as there are messages: 12,500,000.
        if (work > 20 * messages) found.push(`${statement.name}, ${mode}: ${work} rows pass through its plan`);
      }
    }
    await client.end();
    expect(found).toEqual([]);
  }, 60_000);

  test("a claim takes no more than its limit, whatever the planner may not use", async () => {
    const schema = await schemaFor("limits");
    const store = openPostgres(server.url, { schema });
    const runs = newRuns(60);
    await store.runs.insert(runs);
    const groupIds = await store.runs.groupIds([runs[0]!.group]);
    await store.close();
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    // What is switched off only becomes very expensive, and the expensive is compiled: not what is judged here.
    await client.query("set jit = off");
    const kinds = [
      "hashjoin",
      "mergejoin",
      "nestloop",
      "hashagg",
      "sort",
      "material",
      "seqscan",
      "indexscan",
      "bitmapscan",
      "memoize",
    ];
    for (const off of combinations(kinds)) {
      await client.query("begin");
      for (const kind of off) await client.query(`set local enable_${kind} = off`);
      for (const [limit, n] of [
        [1, "1"],
        [7, "2"],
      ] as const) {
        const token = `00000000-0000-4000-8000-00000000000${n}`;
        const { rows } = await client.query(claimRuns.text(dialect(schema)), [
          token,
          token,
          groupIds,
          limit,
          1000,
          null,
          ["v1", token],
          null,
        ]);
        expect({ off, claimed: rows.length }).toEqual({ off, claimed: limit });
      }
      await client.query("rollback");
    }
    await client.end();
  }, 60_000);
}

/** None, each, each pair, all. */
function combinations(kinds: readonly string[]): string[][] {
  const pairs = kinds.flatMap((a, i) => kinds.slice(i + 1).map((b) => [a, b]));
  return [[], ...kinds.map((kind) => [kind]), ...pairs, [...kinds], kinds.filter((kind) => kind !== "nestloop")];
}
