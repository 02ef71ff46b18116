// Steps that are transactions, on real PostgreSQL: exactly once, whatever happens around their COMMIT.

import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { Transaction } from "../../src/store/contract/transaction.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { startProxy } from "../harness/proxy.js";
import { QUICK } from "./node-suite.js";

const { url, schema } = testSchema();
const bookings = `${schema}_bookings`;
let pool: pg.Pool;
let store: PostgresStore;
const nodes: Node[] = [];

async function open(programs: Parameters<typeof createNode>[0]["programs"], at: PostgresStore = store) {
  const node = await createNode({ store: at, ...QUICK, programs });
  nodes.push(node);
  return node;
}
const booked = async (run: string): Promise<number> =>
  (await pool.query(`select count(*)::int as n from ${bookings} where run = $1`, [run])).rows[0].n;

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: url, max: 2 });
  await pool.query(`create table ${bookings} (run text, what text)`);
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop({ grace: "1s" })));
  await store.close();
  await pool.query(`drop table ${bookings}`);
  await pool.end();
});

const insert = `insert into ${bookings} (run, what) values ($1, $2)`;

test("the writes of a transaction exist once, with its result in the journal", async () => {
  const book = workflow("book", async (ctx) => {
    const n = await ctx.transaction("book", async (tx, { attempt }) => {
      await tx.query(insert, [ctx.runId, "seat"]);
      return attempt;
    });
    return ctx.step("after", () => n);
  });
  const node = await open([book]);
  const run = await node.start(book);
  expect(await run.result({ timeout: "5s" })).toBe(1);
  expect(await booked(run.id)).toBe(1);
  const { entries } = (await store.journal.read(run.id))!;
  expect(entries.map(({ kind }) => kind)).toEqual(["start", "transaction", "step", "completed"]);
});

test("an attempt that throws leaves nothing behind, and the next one is counted", async () => {
  const shaky = workflow("shaky", async (ctx) =>
    ctx.transaction("book", { retry: { attempts: 3, delay: 1 } }, async (tx, { attempt }) => {
      await tx.query(insert, [ctx.runId, `attempt ${attempt}`]);
      if (attempt < 3) throw new Error("not yet");
      return attempt;
    }),
  );
  const node = await open([shaky]);
  const run = await node.start(shaky);
  expect(await run.result({ timeout: "5s" })).toBe(3);
  expect(await booked(run.id)).toBe(1);
});

test("a statement that fails fails the step, not the engine", async () => {
  const bad = workflow("bad-sql", async (ctx) =>
    ctx.transaction("bad", { retry: 1 }, async (tx) => {
      await tx.query(insert, [ctx.runId, "x"]);
      await tx.query("select 1 / 0", []).catch(() => {});
    }),
  );
  const node = await open([bad]);
  const run = await node.start(bad);
  await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
  expect(await booked(run.id)).toBe(0);
});

test("an error of the work counts as an attempt, also when it looks like an outage", async () => {
  const short = openPostgres(url, { schema, queryTimeout: "300ms" });
  const away = Object.assign(new Error("the mail server is away"), { code: "ECONNREFUSED" });
  const works: Record<string, (tx: Transaction) => Promise<unknown>> = {
    ECONNREFUSED: () => Promise.reject(away),
    "57014": (tx) => tx.query("select pg_sleep(2)", []),
    TRANSACTION_IDLE: (tx) => new Promise((resolve) => setTimeout(resolve, 700)).then(() => tx.query("select 1", [])),
  };
  const attempts: string[] = [];
  const wrong = workflow("wrong", { queue: "wrong" }, async (ctx, code: string) =>
    ctx.transaction("x", { retry: { attempts: 2, delay: 1 } }, (tx) => {
      attempts.push(code);
      return works[code]!(tx);
    }),
  );
  const node = await createNode({ store: short, ...QUICK, programs: [wrong] });
  for (const code of Object.keys(works)) {
    const run = await node.start(wrong, code);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ cause: { code } });
  }
  expect(attempts).toEqual(Object.keys(works).flatMap((code) => [code, code]));
  await node.stop({ grace: "1s" });
  await short.close();
}, 30_000);

test("at an isolation level of its own, a step whose run is written to meanwhile has failed an attempt, and is not repeated for ever", async () => {
  let attempts = 0;
  const level = workflow("level", async (ctx, { disturbed }: { disturbed: number }) =>
    ctx.transaction("x", { retry: { attempts: 2, delay: 1 } }, async (tx) => {
      attempts++;
      await tx.query("set transaction isolation level repeatable read", []);
      await tx.query(insert, [ctx.runId, "seat"]);
      // What a renewal does.
      const renewed = `update ${schema}.runs set lease_until = lease_until where id = $1`;
      if (attempts <= disturbed) await pool.query(renewed, [ctx.runId]);
    }),
  );
  // On a busy machine an attempt may take longer than a short interval between renewals: only the test disturbs it.
  const node = await createNode({ store, timing: { lease: "60s", renewEvery: "20s" }, programs: [level] });
  nodes.push(node);
  const once = await node.start(level, { disturbed: 1 });
  await once.result({ timeout: "10s" });
  expect([attempts, await booked(once.id)]).toEqual([2, 1]);
  attempts = 0;
  const always = await node.start(level, { disturbed: 100 });
  const cause = { code: "TRANSACTION_OUTDATED", message: expect.stringContaining("repeatable read") };
  await expect(always.result({ timeout: "10s" })).rejects.toMatchObject({ cause });
  expect([attempts, await booked(always.id)]).toEqual([2, 0]);
}, 30_000);

test("a transaction that is kept after its step can no longer be used", async () => {
  let kept: Transaction | null = null;
  const keeps = workflow("keeps", async (ctx) =>
    ctx.transaction("x", async (tx) => {
      kept = tx;
    }),
  );
  const node = await open([keeps]);
  const run = await node.start(keeps);
  await run.result({ timeout: "5s" });
  await expect(kept!.query(insert, [run.id, "late"])).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
  expect(await booked(run.id)).toBe(0);
});

test.for(["commit", " ROLLBACK", "select 1; commit"])("%j by hand fails the step", async (text) => {
  const byHand = workflow("by-hand", async (ctx) =>
    ctx.transaction("x", { retry: 1 }, async (tx) => {
      await tx.query("savepoint a", []);
      await tx.query("rollback to a", []);
      await (tx.query as (text: string) => Promise<unknown>)(text);
    }),
  );
  const node = await open([byHand]);
  const run = await node.start(byHand);
  const cause = { code: "INVALID_INPUT", message: expect.stringContaining("begins and ends by itself") };
  await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause });
});

test("a transaction that times out before it has a connection fails, and the process continues", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const one = openPostgres(url, { schema, transactions: 1 });
  let [begun, worked] = [() => {}, 0];
  const isOpen = new Promise<void>((resolve) => (begun = resolve));
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const holds = workflow("holds", { queue: "one" }, async (ctx) =>
    ctx.transaction("x", () => {
      begun();
      return released;
    }),
  );
  const waits = workflow("waits", { queue: "one" }, async (ctx) =>
    ctx.transaction("x", { retry: 1, timeout: 50 }, () => void worked++),
  );
  const node = await createNode({ store: one, ...QUICK, programs: [holds, waits] });
  const first = await node.start(holds);
  await isOpen;
  const run = await node.start(waits);
  await expect.poll(() => node.active).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 200)); // its time passes
  release();
  await first.result({ timeout: "5s" });
  await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "STEP_TIMEOUT" } });
  expect([worked, unhandled]).toEqual([0, []]);
  process.off("unhandledRejection", note);
  await node.stop({ grace: "1s" });
  await one.close();
});

test("runs started in a transaction exist when it commits", async () => {
  const child = workflow("started-inside", async (ctx, from: string) => `${from} ${ctx.runId}`);
  let node: Node;
  const parent = workflow("starter", async (ctx) =>
    ctx.transaction("start", async (tx, { attempt }) => {
      const run = await node.start(child, ctx.runId, { tx });
      if (attempt === 1) throw new Error("rolled back");
      return run.id;
    }),
  );
  node = await open([child, parent]);
  const run = await node.start(parent);
  const childId = await run.result({ timeout: "10s" });
  expect(await node.run(childId).result({ timeout: "5s" })).toBe(`${run.id} ${childId}`);
  const { runs } = await store.runs.list({ env: "default", program: "started-inside" }, { limit: 10 });
  expect(runs).toHaveLength(1);
});

test("a long transaction holds up neither renewals nor the commits of other runs", async () => {
  const held = workflow("held", { queue: "held" }, async (ctx) =>
    ctx.transaction("wait", async (tx) => {
      await tx.query(insert, [ctx.runId, "long"]);
      await tx.query("select pg_sleep(1.5)", []);
    }),
  );
  const quick = workflow("quick", async (ctx) => ctx.step("one", () => 1));
  const node = await createNode({ store, timing: { ...QUICK.timing, lease: 900 }, programs: [held, quick] });
  nodes.push(node);
  const lost: unknown[] = [];
  node.on("claim.lost", (event) => void lost.push(event));
  const run = await node.start(held);
  await expect.poll(() => node.active).toBe(1);
  const others = await Promise.all(Array.from({ length: 10 }, () => node.start(quick)));
  await Promise.all(others.map((other) => other.result({ timeout: "5s" })));
  expect((await run.status()).state).toBe("running");
  await run.result({ timeout: "10s" });
  expect(lost).toEqual([]);
  expect(await booked(run.id)).toBe(1);
});

test("parallel transactions and steps of one run do not get into each other's way", async () => {
  const many = workflow("many", async (ctx, n: number) => {
    await Promise.all(
      Array.from({ length: n }, (_, i) =>
        i % 2 === 0
          ? ctx.transaction("book", { key: `k${i}` }, (tx) => tx.query(insert, [ctx.runId, `k${i}`]).then(() => i))
          : ctx.step("step", { key: `k${i}` }, () => i),
      ),
    );
  });
  const node = await open([many]);
  const run = await node.start(many, 40);
  await run.result({ timeout: "20s" });
  expect(await booked(run.id)).toBe(20);
  const { entries } = (await store.journal.read(run.id))!;
  expect(entries).toHaveLength(42);
});

test("on a pool of the application's with one connection, transactions and parallel steps do not wait for each other", async () => {
  const single = new pg.Pool({ connectionString: url, max: 1 });
  const shared = openPostgres(single, { schema });
  let [begun, all] = [0, () => {}];
  const allOpen = new Promise<void>((resolve) => (all = resolve));
  const both = workflow("beside", { queue: "beside" }, async (ctx) => {
    await Promise.all([
      ctx.transaction("x", async (tx) => {
        await tx.query("select 1", []);
        if (++begun === 3) all();
        await allOpen;
      }),
      ctx.step("s", () => allOpen),
    ]);
  });
  const node = await createNode({ store: shared, timing: { ...QUICK.timing, lease: "30s" }, programs: [both] });
  const runs = await Promise.all([1, 2, 3].map(() => node.start(both)));
  const other = openPostgres(url, { schema });
  const state = async (id: string) => (await other.runs.get(id))?.state;
  try {
    for (const { id } of runs) await expect.poll(() => state(id), { timeout: 5_000 }).toBe("completed");
  } finally {
    all();
    await node.stop({ grace: "1s" });
    await Promise.all([other.close(), shared.close()]);
  }
  await single.end();
}, 30_000);

test("while a transaction is open, other steps of its run are recorded", async () => {
  let [begun, release] = [() => {}, () => {}];
  const isOpen = new Promise<void>((resolve) => (begun = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const both = workflow("both", { queue: "both" }, async (ctx) => {
    await Promise.all([
      ctx.transaction("long", async (tx) => {
        await tx.query(insert, [ctx.runId, "long"]);
        begun();
        await released;
      }),
      ctx.step("one", () => isOpen).then(() => ctx.step("two", () => 2)),
    ]);
  });
  const node = await createNode({ store, timing: { ...QUICK.timing, lease: "60s" }, programs: [both] });
  nodes.push(node);
  const run = await node.start(both);
  const recorded = async () => (await store.journal.read(run.id))!.entries.map(({ name }) => name);
  try {
    await expect.poll(recorded, { timeout: 10_000 }).toEqual(expect.arrayContaining(["one", "two"]));
  } finally {
    release();
  }
  await run.result({ timeout: "10s" });
  expect(await booked(run.id)).toBe(1);
});

test("a transaction of a claim that was taken over writes nothing", async () => {
  let release = () => {};
  const waiting = new Promise<void>((resolve) => (release = resolve));
  const attempts: number[] = [];
  let backend: number | null = null;
  const slow = workflow("slow", { queue: "taken-over" }, async (ctx) =>
    ctx.transaction("book", async (tx, { fence }) => {
      const { rows } = (await tx.query("select pg_backend_pid() as pid", [])) as { rows: { pid: number }[] };
      backend ??= rows[0]!.pid;
      attempts.push(Number(fence));
      await tx.query(insert, [ctx.runId, String(fence)]);
      if (fence === 1n) await waiting;
    }),
  );
  const hung = await createNode({ store, timing: { ...QUICK.timing, lease: 300, renewEvery: 250 }, programs: [slow] });
  const run = await hung.start(slow);
  await expect.poll(() => attempts.length, { timeout: 5_000 }).toBe(1);
  await hung.stop({ grace: 1 });
  const other = await open([slow]);
  await other.run(run.id).result({ timeout: "10s" });
  release();
  // By its own connection: between two of its statements it would look absent.
  const inside = "select 1 from pg_stat_activity where pid = $1 and xact_start is not null";
  await expect.poll(async () => (await pool.query(inside, [backend])).rowCount).toBe(0);
  const { rows } = await pool.query(`select what from ${bookings} where run = $1`, [run.id]);
  expect(rows).toEqual([{ what: "2" }]);
});

test("a COMMIT without an answer is looked up: the transaction exists once", async () => {
  const { hostname, port } = new URL(url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  const cut = openPostgres(proxy.url(url), { schema, queryTimeout: "1s" });
  const commit = (request: Buffer) => request.includes("commit\0");
  let lost: Promise<void> | null = null;
  const book = workflow("unanswered", { queue: "unanswered" }, async (ctx) => {
    await ctx.transaction("book", async (tx) => {
      await tx.query(insert, [ctx.runId, "seat"]);
      lost ??= proxy.loseNextReply(commit);
    });
    return "done";
  });
  const node = await createNode({ store: cut, timing: { ...QUICK.timing, lease: "5s" }, programs: [book] });
  const run = await node.start(book);
  expect(await run.result({ timeout: "20s" })).toBe("done");
  await lost!;
  expect(await booked(run.id)).toBe(1);
  await node.stop({ grace: "1s" });
  await cut.close();
  await proxy.stop();
}, 40_000);
