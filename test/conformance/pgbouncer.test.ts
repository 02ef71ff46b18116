// The PostgreSQL store keeps the store's contract through PgBouncer in transaction mode.

import { expect, test } from "vitest";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { startPgBouncer } from "../harness/pgbouncer.js";
import { describeWith } from "../harness/require.js";
import { conformOnPostgres } from "./on-postgres.js";

const { url, schema } = testSchema();

describeWith("pgbouncer", "through PgBouncer", (program) => {
  let bouncer: Awaited<ReturnType<typeof startPgBouncer>> | undefined;
  conformOnPostgres(async () => {
    bouncer = await startPgBouncer(program, url, { poolMode: "transaction" });
    return { url: bouncer.url, schema, stop: bouncer.stop };
  });

  test("the store notices the pooler", async () => {
    const direct = openPostgres(url, { schema });
    const pooled = openPostgres(bouncer!.url, { schema });
    await direct.checkSchema();
    await pooled.checkSchema();
    expect([direct.pooled, pooled.pooled]).toEqual([false, true]);
    await direct.close();
    await pooled.close();
  });
});
