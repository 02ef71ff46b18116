// Real processes that sweep one database and are killed: every timeout fires once, on its own instance, none early, none lost.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { describeWith } from "../harness/require.js";

const { url, schema, pool } = testSchema();
let store: PostgresStore;
const children: Sweeping[] = [];

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
  await pool.query(`create table ${schema}.orders (id text primary key, state text, seq bigint, due timestamptz)`);
  await pool.query(
    `create table ${schema}.fired (id text, node text, late_ms float8, seen_deadline timestamptz, attempts int)`,
  );
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await pool.query(`truncate ${schema}.orders, ${schema}.fired, ${schema}.timeouts, ${schema}.leases`);
});
afterAll(() => store.close());

class Sweeping {
  readonly #process: ChildProcess;
  readonly #lines: Record<string, unknown>[] = [];
  #heard: () => void = () => {};

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const options = {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"] as ["ignore", "pipe", "inherit"],
    };
    this.#process = spawn(program, args, options);
    createInterface({ input: this.#process.stdout! }).on("line", (line) => {
      this.#lines.push(JSON.parse(line));
      this.#heard();
    });
    children.push(this);
  }

  /** Waits until it printed something with this name. */
  async says(name: string): Promise<Record<string, unknown>> {
    for (;;) {
      const line = this.#lines.find((one) => name in one);
      if (line) return line;
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  said(name: string): boolean {
    return this.#lines.some((line) => name in line);
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    // faketime waits for a process of its own: that one is meant.
    process.kill(Number((await this.says("ready"))["ready"]), signal);
    await gone;
  }
}

/** HOLDFAST_TIMEOUTS=1000: how many timeouts the killed processes get. */
const TIMEOUTS = Number(process.env["HOLDFAST_TIMEOUTS"] ?? 300);
const CHILD = compiled(join(import.meta.dirname, "sweep.child.ts"));
const argsOf = (nodeId: string, election = "all") => [CHILD, url, schema, nodeId, election];
const sweeping = (nodeId: string, election?: string) => new Sweeping(process.execPath, argsOf(nodeId, election));

/** Orders whose timeouts are due between the two times, scheduled in the transactions that put them into their state. */
async function arm(count: number, fromMs: number, toMs: number, prefix = "o"): Promise<void> {
  const timeouts = timeoutStore(store, { scope: "order" });
  const one = async (i: number) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      const ms = Math.round(fromMs + ((toMs - fromMs) * i) / count);
      await client.query(`insert into ${schema}.orders (id, state, seq) values ($1, 'pending', $2)`, [
        `${prefix}${i}`,
        i % 7,
      ]);
      const { deadline } = await timeouts.schedule(
        `${prefix}${i}`,
        { state: "pending", sequence: i % 7, in: ms },
        { tx: client },
      );
      await client.query(`update ${schema}.orders set due = to_timestamp($2::float8 / 1000) where id = $1`, [
        `${prefix}${i}`,
        deadline,
      ]);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  };
  let next = 0;
  const worker = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: 5 }, worker));
}

const count = async (text: string) => Number((await pool.query(text.replaceAll("{s}", schema))).rows[0].n);
const firedCount = () => count("select count(*) as n from {s}.fired");
const leftCount = () => count("select count(*) as n from {s}.timeouts");

const lease = async (): Promise<{ left_ms: number; epoch: string; attempt: number }> => {
  const left = "extract(epoch from lease_until - clock_timestamp())::float8 * 1000";
  return (await pool.query(`select ${left} as left_ms, epoch, attempt from ${schema}.leases`)).rows[0];
};

async function until(reached: () => Promise<boolean>): Promise<void> {
  while (!(await reached())) await new Promise((resolve) => setTimeout(resolve, 50));
}

test("three sweeping processes, hundreds of timeouts, two of them killed on the way: each fires once, none early, none lost", {
  timeout: 120_000,
}, async () => {
  const [a, b] = [sweeping("a"), sweeping("b")];
  await Promise.all([a.says("ready"), b.says("ready")]);
  await arm(TIMEOUTS, 1_000, 3_000);
  // Every tenth instance moves before its deadline, without cancelling its timeout.
  const moved = await pool.query(
    `update ${schema}.orders set state = 'paid', seq = seq + 1 where id like '%7' and state = 'pending' returning id`,
  );
  await until(async () => (await firedCount()) > TIMEOUTS / 10);
  await a.kill();
  const c = sweeping("c");
  await until(async () => (await firedCount()) > TIMEOUTS / 3);
  await b.kill();
  const d = sweeping("d");
  await until(async () => (await leftCount()) === 0);
  await Promise.all([c.kill("SIGTERM"), d.kill("SIGTERM")]);

  expect(await count("select count(*) as n from {s}.fired")).toBe(TIMEOUTS - moved.rowCount!);
  expect(await count("select count(distinct id) as n from {s}.fired")).toBe(TIMEOUTS - moved.rowCount!);
  expect(await count("select count(*) as n from {s}.fired where late_ms < 0")).toBe(0);
  expect(await count("select count(*) as n from {s}.orders where state = 'pending'")).toBe(0);
  expect(await count("select count(*) as n from {s}.orders where state = 'paid'")).toBe(moved.rowCount!);
  expect(moved.rowCount).toBeGreaterThan(0);
});

test("only the leader sweeps; killed, it is replaced when its lease expires; stopped, at once", {
  timeout: 60_000,
}, async () => {
  const a = sweeping("a", "leader");
  await a.says("elected");
  const others = [sweeping("b", "leader"), sweeping("c", "leader")];
  await Promise.all(others.map((one) => one.says("ready")));
  await arm(50, 0, 500);
  await until(async () => (await leftCount()) === 0);
  expect(await count("select count(*) as n from {s}.fired where node <> 'a'")).toBe(0);
  expect(others.some((one) => one.said("elected"))).toBe(false);

  await a.kill();
  const killedAt = performance.now();
  const before = await lease();
  await Promise.race(others.map((one) => one.says("elected")));
  const tookMs = performance.now() - killedAt;
  expect(tookMs).toBeGreaterThan(before.left_ms - 5);
  // It polls every 250 ms; the rest is for a loaded machine.
  expect(tookMs).toBeLessThan(before.left_ms + 4_000);
  expect(others.filter((one) => one.said("elected"))).toHaveLength(1);
  // Reclaimed from a dead sweeper: the second attempt.
  expect(await lease()).toMatchObject({ epoch: "2", attempt: 2 });

  const [leading, waiting] = others[0]!.said("elected") ? others : [...others].reverse();
  await leading!.kill("SIGTERM");
  await waiting!.says("elected");
  // Released, without a wait: the first attempt.
  expect(await lease()).toMatchObject({ epoch: "3", attempt: 1 });
  await arm(20, 0, 100, "p");
  await until(async () => (await leftCount()) === 0);
  expect(await firedCount()).toBe(70);
});

describeWith("faketime", "processes whose clocks are ten minutes off", (program) => {
  for (const offset of ["-10m", "+10m"]) {
    test(`a process at ${offset} fires nothing early and nothing late`, { timeout: 60_000 }, async () => {
      const args = ["-f", offset, process.execPath, ...argsOf("skewed")];
      const child = new Sweeping(program, args, { DONT_FAKE_MONOTONIC: "1" });
      const { wallNow } = await child.says("ready");
      expect(Math.abs(Number(wallNow) - Date.now())).toBeGreaterThan(300_000);
      await arm(50, 0, 1_500);
      await until(async () => (await leftCount()) === 0);
      expect(await firedCount()).toBe(50);
      expect(await count("select count(*) as n from {s}.fired where late_ms < 0")).toBe(0);
      expect(await count("select count(*) as n from {s}.fired where late_ms > 20000")).toBe(0);
    });
  }
});
