// A foreign transaction holds a lock on a row: every other part of housekeeping continues, and so does every other run.

import { randomUUID } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { deferred } from "../harness/deferred.js";

const { url, schema, pool } = testSchema();
let store: PostgresStore;
const opened: Node[] = [];
let outsider: pg.PoolClient | null = null;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());
afterEach(async () => {
  await outsider?.query("rollback");
  outsider?.release();
  outsider = null;
  await Promise.all(opened.splice(0).map((node) => node.stop({ grace: 0 })));
});

/** Its one slot becomes free when the test releases it. */
let gate = deferred<void>();
const limited = workflow("limited", { concurrency: 1 }, async (ctx) => ctx.step("wait", () => gate.promise));
const rated = workflow("rated", { rate: { limit: 1, per: "2s" } }, async () => "rated");
const napping = workflow("napping", { concurrency: 100 }, async (ctx) => {
  await ctx.sleep("nap", "2s");
  return "rested";
});
const sleeping = workflow("sleeping", async (ctx) => {
  await ctx.sleep("nap", "2s");
  return "rested";
});
const listening = workflow("listening", async (ctx) => {
  await ctx.sleep("nap", "1h");
});
const hanging = workflow("hanging", async (ctx) => ctx.step("hang", () => new Promise(() => {})));
const programs = [limited, rated, sleeping, napping, listening, hanging];

async function open(env: string, name: string, more: object = {}): Promise<Node> {
  const node = await createNode({ store: openPostgres(url, { schema }), programs, env, identity: { name }, ...more });
  opened.push(node);
  return node;
}

async function hold(sql: string): Promise<number> {
  outsider = await pool.connect();
  await outsider.query("begin");
  return (await outsider.query(sql.replaceAll("{s}", schema))).rowCount ?? 0;
}

const inEnv = (env: string) => `(select id from {s}.claim_groups where env = '${env}')`;

/** Which rows the foreign transaction locks, given the env; each of them exists when it does. */
const LOCKS: Readonly<Record<string, (env: string) => string>> = {
  "runs that wait under a limit": (env) =>
    `select from {s}.runs where state = 'held' and claim_group in ${inEnv(env)} for update`,
  "places in line": (env) => `select from {s}.run_limits where state = 'waits' and key like '${env}%' for update`,
  "the next start of a rate": () => "select from {s}.limit_rates for update",
  "parked runs with messages": (env) =>
    `select from {s}.runs r where state = 'parked' and claim_group in ${inEnv(env)}
       and exists (select from {s}.inbox i where i.run_id = r.id) for update`,
  "unread messages": () => "select from {s}.inbox for update",
  "rows of nodes": (env) => `select from {s}.nodes where env = '${env}' for update`,
  "overdue deferred runs": () => "select from {s}.deferred_runs for update",
  "the cursors of windows": () => "select from {s}.meta for update",
  "claim groups": (env) => `select from {s}.claim_groups where env = '${env}' for share`,
};

test.each(Object.keys(LOCKS))(
  "while a foreign transaction holds %s, a killed node's run is taken over and sleeps end in time",
  { timeout: 60_000 },
  async (which) => {
    const env = `locked-${randomUUID()}`;
    gate = deferred<void>();
    // A cursor after all messages: the next round begins at the first one again, and stores that.
    await pool.query(`insert into ${schema}.meta values ('mail_place', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      on conflict (key) do update set value = excluded.value`);
    const node = await open(env, "one", { timing: { lease: "3s" } });
    await open(env, "two", { timing: { lease: "3s" } });
    await node.start(limited);
    await node.start(limited);
    for (let i = 0; i < 4; i++) await node.start(rated);
    const parked = await node.start(listening);
    await expect.poll(async () => (await parked.status()).state, { timeout: 5_000 }).toBe("parked");
    // A message that arrived without a wake: housekeeping finds it.
    await pool.query(
      `insert into ${schema}.inbox (run_id, key, message_id, kind, name, at)
       values ($1, 'child:x', gen_random_uuid(), 'child', 'x', clock_timestamp())`,
      [parked.id],
    );
    await pool.query(`update ${schema}.runs set wake_after = 1000 where id = $1`, [parked.id]);
    const late = await node.start(listening);
    await pool.query(
      `insert into ${schema}.deferred_runs (run_id, by, expires_at) values ($1, 'me', clock_timestamp() + interval '1 second')`,
      [late.id],
    );
    const lost = await claimedByTheDead(env);
    expect(await hold(LOCKS[which]!(env))).toBeGreaterThan(0);
    // From now on there is room for the next in line.
    gate.resolve();
    const startedAt = performance.now();
    const naps = await Promise.all([node.start(sleeping), node.start(sleeping)]);
    for (const nap of naps) expect(await nap.result({ timeout: "6s" })).toBe("rested");
    expect(performance.now() - startedAt).toBeLessThan(6_000);
    await expect.poll(async () => (await store.runs.get(lost))?.epoch, { timeout: 6_000 }).toBe(2);
  },
);

/** The run of a process that is gone without a trace, and whose lease expires in a moment. */
async function claimedByTheDead(env: string): Promise<string> {
  const group = { env, stack: null, queue: "hanging", program: "hanging", version: null };
  const id = `00000000-0000-7000-8000-${randomUUID().slice(24)}`;
  const input = { codec: "json", data: "null" };
  // Claimed as soon as it is inserted: no other node is woken.
  await pool.query(`insert into ${schema}.paused_queues values ($1, 'hanging', now(), 'me')`, [env]);
  await store.runs.insert([{ id, group, priority: 0, delayMs: 0, crashLimit: 100, input }]);
  await pool.query(
    `update ${schema}.runs set state = 'running', epoch = 1, crashes = 1, token = gen_random_uuid(), owner = gen_random_uuid(),
       lease_until = clock_timestamp() + interval '1 second' where id = $1`,
    [id],
  );
  await pool.query(`delete from ${schema}.paused_queues where env = $1`, [env]);
  return id;
}

describe("a line whose head is locked", () => {
  test("waits, and no other line does; released, it moves in order", { timeout: 60_000 }, async () => {
    const env = `line-${randomUUID()}`;
    const group = { env, stack: null, queue: "serial", program: "serial", version: null };
    const newRun = (key: string) => {
      const id = `00000000-0000-7000-8000-${randomUUID().slice(24)}`;
      const limits = [{ kind: "slots" as const, key: `${env}/${key}`, max: 2 }];
      return { id, group, priority: 0, delayMs: 0, crashLimit: 5, input: { codec: "json", data: "{}" }, limits };
    };
    const tx = await pool.connect();
    await tx.query("begin");
    const runs = [newRun("a"), newRun("a"), newRun("a"), newRun("b")];
    await store.runs.insert(runs, { tx });
    await tx.query("commit");
    tx.release();
    expect(await hold(`select from {s}.runs where id = '${runs[0]!.id}' for update`)).toBe(1);
    const startedAt = performance.now();
    await store.runs.admit({ env, keys: 100 });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    const states = async () => Promise.all(runs.map(async ({ id }) => (await store.runs.get(id))!.state));
    expect(await states()).toEqual(["held", "held", "held", "waiting"]);
    await outsider!.query("rollback");
    await store.runs.admit({ env, keys: 100 });
    expect(await states()).toEqual(["waiting", "waiting", "held", "waiting"]);
  });
});

test("a parked run under a limit, whose place is locked, does not keep others asleep", {
  timeout: 60_000,
}, async () => {
  const env = `nap-${randomUUID()}`;
  const node = await open(env, "one");
  const [stuck, free] = [await node.start(napping), await node.start(sleeping)];
  await expect.poll(async () => (await stuck.status()).state, { timeout: 5_000 }).toBe("parked");
  expect(await hold(`select from {s}.run_limits where run_id = '${stuck.id}' for update`)).toBe(1);
  expect(await free.result({ timeout: "5s" })).toBe("rested");
  await pass(1_000);
  expect((await stuck.status()).state).toBe("parked");
  await outsider!.query("rollback");
  expect(await stuck.result({ timeout: "5s" })).toBe("rested");
});
