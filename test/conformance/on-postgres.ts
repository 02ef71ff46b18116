// Runs the conformance cases on a PostgreSQL store whose clock the test moves.

import pg from "pg";
import { afterAll, beforeAll, describe, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { type StoreHarness, storeConformance } from "../../src/testing/index.js";

export interface Place {
  readonly url: string;
  readonly schema: string;
  /** URL of the store once the schema exists, for a role with fewer rights; default: `url`. */
  readonly runtimeUrl?: () => Promise<string>;
  /** Called when the schema is there, before the first case. */
  readonly onReady?: (how: { readonly schema: string; readonly now: string }) => void;
  /** Called when all connections are closed. */
  readonly stop?: () => Promise<void>;
}

/** Time is a row in a table of the test's: a statement reads it where it would read the database's clock. */
export async function openMovableClock(pool: pg.Pool, schema: string) {
  await pool.query(`create table ${schema}.test_clock (at timestamptz not null)`);
  await pool.query(`insert into ${schema}.test_clock values (date_trunc('second', clock_timestamp()))`);
  return {
    now: `(select at from ${schema}.test_clock)`,
    advance: (ms: number) => pool.query(`update ${schema}.test_clock set at = at + $1 * interval '1 ms'`, [ms]),
  };
}

export function conformOnPostgres(place: () => Promise<Place>): void {
  let harness: StoreHarness;
  let store: PostgresStore;
  let pool: pg.Pool;
  let stop: Place["stop"];

  beforeAll(async () => {
    const { url, schema, ...rest } = await place();
    stop = rest.stop;
    pool = new pg.Pool({ connectionString: url, max: 2 });
    const clock = await openMovableClock(pool, schema);
    const open = (at: string) => openPostgres(at, { schema }, { world: systemWorld(), now: clock.now });
    store = open(url);
    await store.migrate();
    if (rest.runtimeUrl) {
      await store.close();
      store = open(await rest.runtimeUrl());
    }
    rest.onReady?.({ schema, now: clock.now });
    harness = {
      store,
      async transaction(fn, end) {
        const client = await pool.connect();
        try {
          await client.query("begin");
          const result = await fn({ query: (text, values) => client.query(text, values) });
          await client.query(end);
          return result;
        } catch (error) {
          await client.query("rollback");
          throw error;
        } finally {
          client.release();
        }
      },
      async advance(ms) {
        await clock.advance(ms);
      },
    };
  });
  afterAll(async () => {
    await store?.close();
    await pool?.end();
    await stop?.();
  });

  for (const group of new Set(storeConformance.map((one) => one.group))) {
    describe(group, () => {
      for (const one of storeConformance.filter((other) => other.group === group)) {
        test(one.name, () => one.run(harness));
      }
    });
  }
}
