// A disk without room: for the log of the server, which then stops, or for its tables. Needs the right to mount a small disk.

import { execFileSync } from "node:child_process";
import { chown, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgres } from "../../src/store/postgres/open.js";
import { describeWith } from "../harness/require.js";
import { ServerYard, type StreamingServer } from "../harness/streaming.js";
import { expectNothingEnds, type Refusal } from "../scenarios/refused-work.js";

const schema = "holdfast";
const booked = "booked";

describeWith("root", "a disk that is full", () => {
  let yard: ServerYard;
  const mounted: string[] = [];

  beforeAll(async () => {
    yard = await ServerYard.open();
  }, 60_000);
  afterAll(async () => {
    await yard.closeServers();
    for (const folder of mounted) execFileSync("umount", ["-l", folder]);
    await yard.close();
  });

  /** A disk of its own, in memory. */
  async function disk(name: string, mb: number): Promise<string> {
    const folder = await yard.folder(name);
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mb}m`, "tmpfs", folder]);
    mounted.push(folder);
    if (yard.account) await chown(folder, yard.account.uid, yard.account.gid);
    return folder;
  }

  const filler = (folder: string) => join(folder, "filler");
  /** Writes until nothing fits any more. */
  const fill = (folder: string) =>
    execFileSync("sh", ["-c", `cat /dev/zero > "${filler(folder)}" 2>/dev/null || true`]);

  async function expectNothingEndsOn(server: StreamingServer, refusal: Refusal): Promise<void> {
    const { url } = server;
    const store = openPostgres(url, { schema });
    await store.migrate();
    await store.close();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => {});
    await pool.query(`create table ${booked} (run text)`);
    try {
      await expectNothingEnds({ url, clientUrl: url, schema, booked, query: (text) => pool.query(text) }, refusal);
    } finally {
      await pool.end();
    }
  }

  test("of the server's log stops the server; with room and a start of the server all work is done (F22)", {
    timeout: 90_000,
  }, async () => {
    const folder = await disk("log", 100);
    const server = await yard.primary("small-log", { initdb: [`--waldir=${join(folder, "wal")}`] });
    await expectNothingEndsOn(server, {
      refuse: async () => {
        fill(folder);
        // Segments of the log that were made ahead are used up, then the next one cannot be made.
        const use = (n: number) => server.query(`create table filler${n} as select 1; select pg_switch_wal()`);
        for (let n = 0; n < 20 && !server.hasEnded; n++) await use(n).catch(() => {});
        await expect.poll(() => server.hasEnded, { timeout: 20_000 }).toBe(true);
      },
      accept: async () => {
        await rm(filler(folder));
        await yard.again(server);
      },
      ms: 800,
    });
  });

  test("of the tables is an outage: no attempt is used up, nothing fails, and all work is done later (F23)", {
    timeout: 90_000,
  }, async () => {
    const folder = await disk("tables", 40);
    const server = await yard.primary("small-tables");
    await server.query(`create tablespace small location '${folder}'`);
    await server.query("alter database postgres set default_tablespace = 'small'");
    await expectNothingEndsOn(server, {
      refuse: async () => {
        fill(folder);
        const more = server.query("create table more as select repeat('x', 900) from generate_series(1, 90000)");
        await expect(more).rejects.toMatchObject({ code: "53100" });
      },
      accept: () => rm(filler(folder)),
      // Long enough that tables grow.
      ms: 3_000,
    });
  });
});
