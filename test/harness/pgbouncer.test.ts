// PgBouncer in transaction mode in front of the test database.

import pg from "pg";
import { expect, inject, test } from "vitest";
import { startPgBouncer } from "./pgbouncer.js";
import { describeWith } from "./require.js";

describeWith("pgbouncer", "pgbouncer", (program) => {
  test("more clients than server connections are served, transaction by transaction", async () => {
    await using bouncer = await startPgBouncer(program, inject("databaseUrl"), { poolSize: 1 });
    const clients = [1, 2].map(() => new pg.Client({ connectionString: bouncer.url }));
    for (const client of clients) await client.connect();
    const backends = new Set<number>();
    for (const client of clients) {
      const found = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      backends.add(found.rows[0]!.pid);
    }
    expect(backends.size).toBe(1);
    for (const client of clients) await client.end();
  });
});
