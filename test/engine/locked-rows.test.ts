// A foreign transaction holds a lock on a row: every other part of housekeeping continues, and so does every other run.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import type pg from "pg";
import { type ExpectStatic, type TestContext, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { deferred } from "../harness/deferred.js";

const { url, pool } = testSchema();

/** A schema of its own, with nodes and one foreign transaction: the cases run side by side, and some lock all rows of a table. */
class Scene {
  readonly #nodes: Node[] = [];
  readonly #gate = deferred<void>();
  #outsider: pg.PoolClient | null = null;
  readonly limited = workflow("limited", { concurrency: 1 }, async (ctx) => ctx.step("wait", () => this.#gate.promise));

  readonly schema: string;
  readonly store: PostgresStore;

  private constructor(schema: string, store: PostgresStore) {
    this.schema = schema;
    this.store = store;
  }

  static async open(): Promise<Scene> {
    const schema = `t_locked_${randomBytes(4).toString("hex")}`;
    const store = openPostgres(url, { schema });
    await store.migrate();
    return new Scene(schema, store);
  }

  async node(env: string, name: string, more: object = {}): Promise<Node> {
    const programs = [this.limited, rated, sleeping, napping, listening, hanging];
    const store = openPostgres(url, { schema: this.schema });
    const node = await createNode({ store, programs, env, identity: { name }, ...more });
    this.#nodes.push(node);
    return node;
  }

  query(sql: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    return pool.query(sql.replaceAll("{s}", this.schema), [...values]);
  }

  /** Begins the foreign transaction with this statement, and returns how many rows it holds. */
  async hold(sql: string): Promise<number> {
    this.#outsider = await pool.connect();
    await this.#outsider.query("begin");
    return (await this.#outsider.query(sql.replaceAll("{s}", this.schema))).rowCount ?? 0;
  }

  async letGo(): Promise<void> {
    await this.#outsider?.query("rollback");
    this.#outsider?.release();
    this.#outsider = null;
  }

  /** From now on the one slot of `limited` is free. */
  makeRoom(): void {
    this.#gate.resolve();
  }

  /** A failed case keeps its schema for inspection. */
  async close({ keep }: { readonly keep: boolean }): Promise<void> {
    await this.letGo();
    await Promise.all(this.#nodes.map((node) => node.stop({ grace: 0 })));
    await this.store.close();
    if (!keep) await pool.query(`drop schema ${this.schema} cascade`);
  }
}

const inScene =
  (body: (scene: Scene, expect: ExpectStatic) => Promise<void>) =>
  async ({ expect }: TestContext) => {
    const scene = await Scene.open();
    let keep = true;
    try {
      await body(scene, expect);
      keep = false;
    } finally {
      await scene.close({ keep });
    }
  };

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

for (const [which, lock] of Object.entries(LOCKS)) {
  test.concurrent(
    `while a foreign transaction holds ${which}, a killed node's run is taken over and sleeps end in time`,
    {
      timeout: 60_000,
    },
    inScene(async (scene, expect) => {
      const { limited, store } = scene;
      const env = `locked-${randomUUID()}`;
      // A cursor after all messages: the next round begins at the first one again, and stores that.
      await scene.query(`insert into {s}.meta values ('mail_place', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      on conflict (key) do update set value = excluded.value`);
      const node = await scene.node(env, "one", { timing: { lease: "3s" } });
      await scene.node(env, "two", { timing: { lease: "3s" } });
      await node.start(limited);
      await node.start(limited);
      for (let i = 0; i < 4; i++) await node.start(rated);
      const parked = await node.start(listening);
      await expect.poll(async () => (await parked.status()).state, { timeout: 5_000 }).toBe("parked");
      // A message that arrived without a wake: housekeeping finds it.
      await scene.query(
        `insert into {s}.inbox (run_id, key, message_id, kind, name, at)
       values ($1, 'child:x', gen_random_uuid(), 'child', 'x', clock_timestamp())`,
        [parked.id],
      );
      await scene.query(`update {s}.runs set wake_after = 1000 where id = $1`, [parked.id]);
      const late = await node.start(listening);
      await scene.query(
        `insert into {s}.deferred_runs (run_id, by, expires_at) values ($1, 'me', clock_timestamp() + interval '1 second')`,
        [late.id],
      );
      const lost = await claimedByTheDead(scene, env);
      expect(await scene.hold(lock(env))).toBeGreaterThan(0);
      scene.makeRoom();
      const startedAt = performance.now();
      const naps = await Promise.all([node.start(sleeping), node.start(sleeping)]);
      for (const nap of naps) expect(await nap.result({ timeout: "6s" })).toBe("rested");
      expect(performance.now() - startedAt).toBeLessThan(6_000);
      await expect.poll(async () => (await store.runs.get(lost))?.epoch, { timeout: 6_000 }).toBe(2);
    }),
  );
}

/** The run of a process that is gone without a trace, and whose lease expires in a moment. */
async function claimedByTheDead(scene: Scene, env: string): Promise<string> {
  const group = { env, stack: null, queue: "hanging", program: "hanging", version: null };
  const id = `00000000-0000-7000-8000-${randomUUID().slice(24)}`;
  const input = { codec: "json", data: "null" };
  // Claimed as soon as it is inserted: no other node is woken.
  await scene.query(`insert into {s}.paused_queues values ($1, 'hanging', now(), 'me')`, [env]);
  await scene.store.runs.insert([{ id, group, priority: 0, delayMs: 0, crashLimit: 100, input }]);
  await scene.query(
    `update {s}.runs set state = 'running', epoch = 1, crashes = 1, token = gen_random_uuid(), owner = gen_random_uuid(),
       lease_until = clock_timestamp() + interval '1 second' where id = $1`,
    [id],
  );
  await scene.query(`delete from {s}.paused_queues where env = $1`, [env]);
  return id;
}

test.concurrent(
  "a line whose head is locked waits, and no other line does; released, it moves in order",
  {
    timeout: 60_000,
  },
  inScene(async (scene, expect) => {
    const { store } = scene;
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
    expect(await scene.hold(`select from {s}.runs where id = '${runs[0]!.id}' for update`)).toBe(1);
    const startedAt = performance.now();
    await store.runs.admit({ env, keys: 100 });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    const states = async () => Promise.all(runs.map(async ({ id }) => (await store.runs.get(id))!.state));
    expect(await states()).toEqual(["held", "held", "held", "waiting"]);
    await scene.letGo();
    await store.runs.admit({ env, keys: 100 });
    expect(await states()).toEqual(["waiting", "waiting", "held", "waiting"]);
  }),
);

test.concurrent(
  "a parked run under a limit, whose place is locked, does not keep others asleep",
  {
    timeout: 60_000,
  },
  inScene(async (scene, expect) => {
    const env = `nap-${randomUUID()}`;
    const node = await scene.node(env, "one");
    const [stuck, free] = [await node.start(napping), await node.start(sleeping)];
    await expect.poll(async () => (await stuck.status()).state, { timeout: 5_000 }).toBe("parked");
    expect(await scene.hold(`select from {s}.run_limits where run_id = '${stuck.id}' for update`)).toBe(1);
    expect(await free.result({ timeout: "5s" })).toBe("rested");
    await pass(1_000);
    expect((await stuck.status()).state).toBe("parked");
    await scene.letGo();
    expect(await stuck.result({ timeout: "5s" })).toBe("rested");
  }),
);
