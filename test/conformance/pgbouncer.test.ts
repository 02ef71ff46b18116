// The PostgreSQL store keeps the store's contract through PgBouncer in transaction mode.

import { expect, test } from "vitest";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { createNode } from "../../src/node/create-node.js";
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
    const found = async (store: typeof pooled) => (await store.examine()).abilities.map(({ is }) => is);
    expect(await found(direct)).toEqual(Array(5).fill("works"));
    expect(await found(pooled)).toEqual(["works", ...Array(4).fill("falls back")]);
    await direct.close();
    await pooled.close();
  });

  test("a process wakes its own node directly, because LISTEN does not work behind the pooler", async () => {
    const first = task(async () => 1);
    const second = task({ needs: { first } }, async (_ctx, needs) => needs.first + 1);
    const chain = dag("chain", { first, second });
    const slow = { timing: { pollInterval: "20s", pollMax: "20s" } } as const;
    await using node = await createNode({ store: openPostgres(bouncer!.url, { schema }), programs: [chain], ...slow });
    for (let i = 0; i < 3; i++) {
      expect(await (await node.start(chain)).result({ timeout: "5s" })).toEqual({ first: 1, second: 2 });
    }
  });
});
