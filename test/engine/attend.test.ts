// Live nodes are woken at once when there is work, and are noticed at once when they die.

import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { createNode } from "../../src/node/create-node.js";
import type { AnyDefinition } from "../../src/program/definition.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";

const { url, schema, pool } = testSchema();
/** So slow that only a wake can explain a quick reaction. */
const SLOW = { timing: { pollInterval: "20s", pollMax: "20s", lease: "60s" } } as const;
const hello = workflow("hello", async (ctx) => ctx.step("greet", () => "hello"));
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());

const attending = async () => {
  const { rows } = await pool.query(
    `select incarnation from ${schema}.nodes where presence is not null and stopped_at is null`,
  );
  return rows.map(({ incarnation }) => incarnation as string);
};

describe("wakes", () => {
  test("a run started by another process is picked up without waiting for the poll", async () => {
    await using worker = await createNode({ store: openPostgres(url, { schema }), programs: [hello], ...SLOW });
    await using starter = await createNode({ store, programs: [], ...SLOW });
    expect(worker.active).toBe(0);
    const run = await starter.start(hello);
    expect(await run.result({ timeout: "5s" })).toBe("hello");
  });

  test("a run started in a caller's transaction is picked up when it commits", async () => {
    await using worker = await createNode({ store: openPostgres(url, { schema }), programs: [hello], ...SLOW });
    const client = await pool.connect();
    await client.query("begin");
    const run = await worker.start(hello, undefined, { tx: client });
    expect(await store.runs.get(run.id)).toBeNull();
    await client.query("commit");
    client.release();
    expect(await run.result({ timeout: "5s" })).toBe("hello");
  });

  test("what an event has started is picked up at once, and so is a task whose needs ended on another node", async () => {
    const seen = event<{ n: number }>()("seen");
    const told = workflow("told", { on: [on(seen)] }, async (_ctx, input) => input.n);
    const first = task(async () => 1);
    const second = task({ needs: { first } }, async (_ctx, needs) => needs.first + 1);
    const both = dag("both", { first, second });
    const without = (name: string): AnyDefinition => ({
      ...both,
      serve: (environment) => both.serve(environment).filter((program) => program.name !== name),
    });
    const options = () => ({ store: openPostgres(url, { schema }), ...SLOW });
    await using one = await createNode({ ...options(), programs: [told, without("both::second")] });
    await using _two = await createNode({ ...options(), programs: [without("both::first")] });
    await using starter = await createNode({ store, programs: [], ...SLOW });
    for (let n = 0; n < 3; n++) {
      const { runs } = await starter.emit(seen, { n });
      expect(await starter.run(runs[0]!.runId!).result({ timeout: "5s" })).toBe(n);
      expect(await (await one.start(both)).result({ timeout: "5s" })).toEqual({ first: 1, second: 2 });
    }
  });

  test("without NOTIFY a process still wakes its own nodes, and other processes find the run by polling", async () => {
    const quiet = openPostgres(url, { schema, notify: false });
    await using own = await createNode({ store: quiet, programs: [hello], ...SLOW });
    for (let i = 0; i < 3; i++) expect(await (await own.start(hello)).result({ timeout: "5s" })).toBe("hello");
  });

  test("a statement that makes runs claimable sends one wake, and one that makes none sends no wake", async () => {
    const heard: (readonly number[])[] = [];
    const other = openPostgres(url, { schema });
    const attendance = await other.attend({ incarnation: randomUUID(), onWake: (ids) => heard.push(ids) });
    heard.length = 0;
    await using starter = await createNode({ store, programs: [], ...SLOW });
    const known = event<{ n: number }>()("known");
    const knower = workflow("knower", { on: [on(known)] }, async () => {});
    await using _declared = await createNode({ store: openPostgres(url, { schema }), programs: [knower], ...SLOW });
    await starter.emit(known, { n: 1 });
    await starter.emit(known, { n: 1 });
    await starter.emit(event<{ n: number }>()("unknown"), { n: 1 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    const [groupId] = await store.runs.groupIds([
      { env: "default", stack: null, queue: "knower", program: "knower", version: null },
    ]);
    expect(heard.filter((ids) => ids.includes(groupId!))).toEqual([[groupId]]);
    await attendance.leave();
    await other.close();
  });

  test("a listener whose connection broke listens again", async () => {
    await using worker = await createNode({ store: openPostgres(url, { schema }), programs: [hello], ...SLOW });
    const { rows } = await pool.query("select pid from pg_stat_activity where query like $1", [
      `%${schema}%set presence%`,
    ]);
    for (const { pid } of rows) await pool.query("select pg_terminate_backend($1)", [pid]);
    await expect.poll(attending, { timeout: 5_000 }).toContain(worker.incarnation);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(await (await worker.start(hello)).result({ timeout: "5s" })).toBe("hello");
  });
});

describe("presence", () => {
  const order = workflow("attended", async (ctx) => {
    await ctx.step("first", () => {
      throw new Error("done twice");
    });
    await ctx.step("second", () => 2);
    return "taken over";
  });

  test("the runs of a killed process are taken over long before its lease expires", async () => {
    const victim = fork(compiled(join(import.meta.dirname, "attend.child.ts")), [url, schema], { execArgv: [] });
    await once(victim, "message");
    const inSecond = once(victim, "message");
    // A client, not a node: the successor is the only one that can reclaim the run.
    const run = await createClient({ store }).start(order);
    await inSecond;
    await using heir = await createNode({
      store: openPostgres(url, { schema }),
      programs: [order],
      timing: { housekeeping: "100ms", presenceGrace: "300ms" },
    });
    const reclaimed = new Promise((resolve) => heir.on("run.reclaimed", resolve));
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect((await run.status()).state).toBe("running");
    victim.kill("SIGKILL");
    expect(await reclaimed).toMatchObject({ runId: run.id, outcome: "waiting" });
    expect(await run.result({ timeout: "10s" })).toBe("taken over");
  });

  test("a node that lost its connection for a moment loses no claim", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = workflow("slow", async (ctx) => ctx.step("wait", () => held));
    await using worker = await createNode({ store: openPostgres(url, { schema }), programs: [slow], ...SLOW });
    await using watcher = await createNode({ store, programs: [], timing: { housekeeping: "50ms" } });
    const stolen: unknown[] = [];
    watcher.on("run.reclaimed", (event) => stolen.push(event));
    const run = await worker.start(slow);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("running");
    for (let i = 0; i < 3; i++) {
      await pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and query like $1",
        [`%${schema}%`],
      );
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    release();
    await run.result({ timeout: "10s" });
    expect(stolen).toEqual([]);
    expect((await run.status()).epoch).toBe(1);
  });
});

test("a lost claim is reported once, and its work ends", async () => {
  const hung = workflow("hung", async (ctx) => ctx.step("hang", () => new Promise<never>(() => {})));
  const settings = { timing: { ...SLOW.timing, renewEvery: 50 } };
  await using worker = await createNode({ store: openPostgres(url, { schema }), programs: [hung], ...settings });
  const lost: unknown[] = [];
  worker.on("claim.lost", (event) => lost.push(event));
  const run = await worker.start(hung);
  await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("running");
  // Far in the future, so that no node claims it again.
  await pool.query(
    `update ${schema}.runs set state = 'waiting', token = null, owner = null, lease_until = null,
       available_at = clock_timestamp() + interval '1 day' where id = $1`,
    [run.id],
  );
  await expect.poll(() => worker.active, { timeout: 5_000 }).toBe(0);
  expect(lost).toHaveLength(1);
});

test("nodes of two schemas in one database do not wait for each other's locks", { timeout: 20_000 }, async () => {
  const others = [`${schema}_x`, `${schema}_y`].map((name) => openPostgres(url, { schema: name }));
  for (const other of others) await other.migrate();
  const there = await Promise.all(
    others.map((other) => other.attend({ incarnation: randomUUID(), onWake: () => {}, onNews: () => {} })),
  );
  await Promise.all(there.map((one) => one.leave()));
  await Promise.all(others.map((other) => other.close()));
  for (const name of ["x", "y"]) await pool.query(`drop schema ${schema}_${name} cascade`);
});
