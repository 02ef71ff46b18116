// Waiting callers share one watcher per process: the number of statements does not grow with the number of callers.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { sleep } from "../../src/kernel/world.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";

const WAITERS = 2_000;
const work = workflow("work", async (_ctx, size: number) => "x".repeat(size));

/** A pool that counts the statements of its connections. */
function countingPool(connectionString: string) {
  const pool = new pg.Pool({ connectionString, max: 4 });
  const count = { statements: 0 };
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...all: unknown[]) => unknown;
    client.query = ((...all: unknown[]) => {
      count.statements++;
      return query(...all);
    }) as typeof client.query;
  });
  return { pool, count };
}

describe("2,000 callers in one process", () => {
  const { pool, count } = countingPool(inject("databaseUrl"));
  const { url, schema } = testSchema();
  let store: PostgresStore;
  let others: PostgresStore;
  const world = systemWorld();

  beforeAll(async () => {
    others = openPostgres(url, { schema });
    await others.migrate();
    store = openPostgres(pool, { schema });
  });
  afterAll(async () => {
    await store.close();
    await others.close();
    await pool.end();
  });

  /** The largest number of statements in a second of the time. */
  async function measured(ms: number): Promise<number> {
    let most = 0;
    for (let spent = 0; spent < ms; spent += 1_000) {
      const before = count.statements;
      await sleep(world, 1_000);
      most = Math.max(most, count.statements - before);
    }
    return most;
  }

  test("make at most 20 statements a second while they wait and when all their runs end", async () => {
    const client = createClient<[typeof work]>({ store });
    const started = await client.startMany(
      "work",
      Array.from({ length: WAITERS }, (_, i) => ({ input: i % 10 === 0 ? 5_000 : 5 })),
    );
    const runs = started.map((outcome) => ("run" in outcome ? outcome.run : expect.fail("not started")));
    const results = runs.map((run) => run.result());
    const first = await measured(1_000);
    const idle = await measured(4_000);
    const node = await createNode({ store: others, programs: [work], concurrency: 50 });
    const busy = measured(6_000);
    const values = await Promise.all(results);
    const most = await busy;
    await node.stop();
    expect(values.map(({ length }) => length)).toEqual(values.map((_, i) => (i % 10 === 0 ? 5_000 : 5)));
    expect({ first, idle, most }).toEqual({ first, idle: Math.min(idle, 5), most: Math.min(most, 20) });
    expect(first).toBeLessThanOrEqual(20);
  }, 60_000);
});
