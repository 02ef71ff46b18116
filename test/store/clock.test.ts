// Which clock decides: the database's, however wrong the clock of a node is (F47).

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { sleep } from "../../src/kernel/world.js";
import { migrationSql } from "../../src/store/postgres/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { describeWith } from "../harness/require.js";

const { url, schema, pool } = testSchema();
const TEN_MINUTES = 600_000;
const world = systemWorld();
const group = { env: "clock", stack: null, queue: "clock", program: "clock", version: null };
let store: PostgresStore;
let groupId: number;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
  [groupId] = (await store.runs.groupIds([group])) as [number];
});
afterAll(() => store.close());
afterEach(() => {
  vi.restoreAllMocks();
});

const insert = async (delayMs = 0) => {
  const id = world.id();
  const input = { codec: "json", data: "{}" };
  await store.runs.insert([{ id, group, priority: 0, delayMs, crashLimit: 5, input }]);
  return id;
};
const request = (leaseMs: number) => ({
  owner: world.token(),
  token: world.token(),
  groupIds: [groupId],
  limit: 1,
  leaseMs,
});

/** A node that starts with its wall clock off by this offset. */
async function onNodeOff<T>(byMs: number, work: (node: PostgresStore) => Promise<T>): Promise<T> {
  const real = Date.now.bind(Date);
  vi.spyOn(Date, "now").mockImplementation(() => real() + byMs);
  const node = openPostgres(url, { schema });
  try {
    return await work(node);
  } finally {
    await node.close();
    vi.restoreAllMocks();
  }
}

describe("a node whose clock is ten minutes off", () => {
  for (const byMs of [-TEN_MINUTES, TEN_MINUTES]) {
    const how = byMs < 0 ? "slow" : "fast";

    test(`a slow or fast claimer keeps its lease (${how})`, async () => {
      const id = await insert();
      const [claim] = await onNodeOff(byMs, (node) => node.runs.claim(request(60_000)));
      expect(claim!.runId).toBe(id);
      expect(await store.runs.reclaimExpired({ env: group.env, limit: 100 })).toEqual([]);
      const { rows } = await pool.query(
        `select extract(epoch from lease_until - clock_timestamp())::float8 as left_s from ${schema}.runs where id = $1`,
        [id],
      );
      expect(rows[0].left_s).toBeGreaterThan(30);
      expect(rows[0].left_s).toBeLessThanOrEqual(60);
    });

    test(`it reclaims nothing from a live holder and everything from a dead one (${how})`, async () => {
      await insert();
      const [live] = await store.runs.claim(request(60_000));
      const dead = await insert();
      await store.runs.claim(request(0));
      const swept = await onNodeOff(byMs, (node) => node.runs.reclaimExpired({ env: group.env, limit: 100 }));
      expect(swept.map(({ runId }) => runId)).toEqual([dead]);
      expect((await store.runs.get(live!.runId))!.state).toBe("running");
      await store.runs.cancel(dead, { by: "test" });
    });

    test(`it claims a delayed run neither early nor late (${how})`, async () => {
      const later = await insert(60_000);
      const now = await insert();
      const claimed = await onNodeOff(byMs, (node) => node.runs.claim({ ...request(60_000), limit: 10 }));
      expect(claimed.map(({ runId }) => runId)).toEqual([now]);
      await store.runs.cancel(later, { by: "test" });
    });
  }
});

describeWith("faketime", "a real process under a wrong clock", (program) => {
  for (const offset of ["-10m", "+10m"]) {
    test(`a process at ${offset} claims for a minute and keeps its claim`, async () => {
      const id = await insert();
      const child = compiled(join(import.meta.dirname, "claim.child.ts"));
      const args = ["-f", offset, process.execPath, child, url, schema, String(groupId)];
      const { stdout } = await promisify(execFile)(program, args, {
        env: { ...process.env, DONT_FAKE_MONOTONIC: "1" },
      });
      const seen = JSON.parse(stdout);
      expect(Math.abs(seen.wallNow - Date.now())).toBeGreaterThan(TEN_MINUTES / 2);
      expect(seen.claimed).toEqual([id]);
      expect(await store.runs.reclaimExpired({ env: group.env, limit: 100 })).toEqual([]);
    });
  }
});

describe("a transaction that was begun long ago", () => {
  const HELD_MS = 1_200;

  /** Its `now()` does not move. */
  async function inOldTransaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
    const tx = await pool.connect();
    try {
      await tx.query("begin");
      await tx.query("select now()");
      await sleep(world, HELD_MS);
      const result = await work(tx);
      await tx.query("commit");
      return result;
    } finally {
      tx.release();
    }
  }

  test("counts delays, leases and due times from the moment of the call (F52)", async () => {
    const id = world.id();
    const run = { id, group, priority: 0, delayMs: 1_000, crashLimit: 5, input: { codec: "json", data: "{}" } };
    await inOldTransaction((tx) => store.runs.insert([run], { tx }));
    const { rows } = await pool.query(
      `select extract(epoch from available_at - clock_timestamp())::float8 * 1000 as left_ms from ${schema}.runs where id = $1`,
      [id],
    );
    expect(rows[0].left_ms, "not due: the delay began with the call").toBeGreaterThan(1_000 - HELD_MS / 2);
    expect(await store.runs.claim(request(60_000))).toEqual([]);
  });

  test("is judged by no statement: none reads the clock of its transaction (F52)", () => {
    const statements = readFileSync(
      join(import.meta.dirname, "../../src/store/postgres/statements.snapshot.sql"),
      "utf8",
    );
    const tables = migrationSql(schema);
    const frozen = /\b(now\(\)|current_timestamp|transaction_timestamp|localtimestamp|statement_timestamp)/gi;
    expect(statements).toContain("clock_timestamp()");
    expect([...statements.matchAll(frozen), ...tables.matchAll(frozen)].map(([word]) => word)).toEqual([]);
  });
});
