// ORMs: Holdfast writes in their transactions and they write in those of steps; nothing is left of one that did not commit.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import { fromDrizzle } from "../../src/orm/drizzle.js";
import { fromKnex } from "../../src/orm/knex.js";
import { fromKysely } from "../../src/orm/kysely.js";
import { fromPrisma } from "../../src/orm/prisma.js";
import { StepPool } from "../../src/orm/step-pool.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import type { Orm } from "./orm.js";
import { ORMS } from "./orms.js";
import { bookingOf, doAll, order, QUICK, REFUSED, seen, TABLE } from "./scene.js";

const { url, schema, pool } = testSchema();
const orms = new Map(Object.entries(ORMS).map(([name, open]) => [name, open(url, schema)]));
const booking = bookingOf(orms, "booking");
let store: PostgresStore;
let node: Node;

const written = async (run: string): Promise<string[]> =>
  (await pool.query(`select what from ${schema}.bookings where run = $1 order by what`, [run])).rows.map(
    ({ what }) => what,
  );
const ofEvent = async (seat: string) => {
  const { runs } = await node.runs.list({ program: "seen" });
  const results = await Promise.all(runs.map(({ id }) => node.run(id).result({ timeout: "5s" })));
  return results.filter((result) => result === seat).length;
};

beforeAll(async () => {
  await pool.query(`create table ${schema}.bookings ${TABLE}`);
  store = openPostgres(url, { schema });
  await store.migrate();
  node = await createNode({ store, ...QUICK, programs: [order, seen, booking] });
});
afterAll(async () => {
  await node?.stop({ grace: 0 });
  await Promise.all([...orms.values()].map((orm) => orm.close()));
  await store?.close();
});

describe.each([...orms])("%s", (name, orm) => {
  test("start, signal, decide and emit in its transaction happen when it commits, and not before", async () => {
    const open = await node.start(order, { seat: "first" });
    await expect.poll(async () => (await open.status()).state, { interval: 10 }).toBe("parked");
    const seat = `${name} commits`;
    let atEnd: unknown[] = [];
    const started = await doAll(node, orm, open.id, seat, async () => {
      const found = await node.runs.get({ program: order, key: seat });
      atEnd = [await written(seat), found, await store.inbox.unread(open.id)];
    });
    expect(atEnd).toEqual([[], null, []]);
    expect(await open.result({ timeout: "5s" })).toBe("300 approved");
    expect(await written(seat)).toEqual(["order"]);
    expect((await node.run(started).status()).group.program).toBe("order");
    await expect.poll(() => ofEvent(seat), { interval: 20 }).toBe(1);
  });

  test("nothing is left of its transaction when it rolls back, and the key is free", async () => {
    const open = await node.start(order, { seat: "second" });
    const seat = `${name} rolls back`;
    const failing = doAll(node, orm, open.id, seat, () => Promise.reject(new RangeError("no seat")));
    await expect(failing).rejects.toThrow("no seat");
    expect(await written(seat)).toEqual([]);
    expect(await store.inbox.unread(open.id)).toEqual([]);
    expect((await node.startMany(order, [{ input: { seat }, key: seat }]))[0]?.outcome).toBe("started");
    expect(await ofEvent(seat)).toBe(0);
  });

  test("a key that is taken is found in its transaction, and the transaction stays usable", async () => {
    const seat = `${name} twice`;
    const first = await node.start(order, { seat }, { key: seat });
    await orm.transaction(async (write, tx) => {
      const [again, other] = await node.startMany(
        order,
        [
          { input: { seat }, key: seat },
          { input: { seat: "another" }, key: seat },
        ],
        { tx },
      );
      expect([again?.outcome, other?.outcome]).toEqual(["existing", "conflict"]);
      await write(seat, "order");
    });
    expect(await written(seat)).toEqual(["order"]);
    expect((await first.status()).group.program).toBe("order");
  });

  test("writes in the transaction of a step, and its own transactions there are savepoints", async () => {
    const run = await node.start(booking, { orm: name, holds: false });
    expect(await run.result({ timeout: "5s" })).toBe(1);
    expect(await written(run.id)).toEqual(["meal", "seat"]);
  });

  test("in a step, a refused statement whose error is caught fails the step, and after it nothing is written", async () => {
    let kept: ReturnType<Orm["over"]> | null = null;
    const careless = workflow(`careless-${name}`, async (ctx, what: string) =>
      ctx.transaction("write", { retry: 1 }, async (tx) => {
        kept = orm.over(tx);
        await kept.write(ctx.runId, "first");
        await kept.write(ctx.runId, what).catch(() => {});
      }),
    );
    await using own = await createNode({ store, ...QUICK, programs: [careless] });
    const refused = await own.start(careless, REFUSED);
    await expect(refused.result({ timeout: "5s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(await written(refused.id)).toEqual([]);
    const good = await own.start(careless, "second");
    await good.result({ timeout: "5s" });
    await expect(kept!.write(good.id, "late")).rejects.toThrow();
    expect(await written(good.id)).toEqual(["first", "second"]);
  });
});

test("of a process that is killed, no transaction of an ORM leaves anything, and its steps are carried out once", async () => {
  const file = join(import.meta.dirname, "orms.ts");
  const child = spawn(process.execPath, [
    compiled(join(import.meta.dirname, "orm.child.ts")),
    ...[url, schema, compiled(file)],
  ]);
  const reached: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => reached.push(line));
  const each = orms.size;
  const all = ["behind", "between", "step"].flatMap((what) => Array.from({ length: each }, () => what));
  await expect.poll(() => [...reached].sort(), { timeout: 20_000, interval: 20 }).toEqual(all);
  const open = `select count(*)::int as n from pg_stat_activity where state = 'idle in transaction' and query not like '%pg_stat%'`;
  expect((await pool.query(open)).rows[0].n).toBeGreaterThanOrEqual(all.length);
  child.kill("SIGKILL");
  const dying = bookingOf(orms, "dying");
  await using next = await createNode({ store, ...QUICK, programs: [dying] });
  for (const name of orms.keys()) {
    const run = await next.start(dying, { orm: name, holds: true }, { key: `dying ${name}` });
    expect(await run.result({ timeout: "20s" })).toBe(1);
    expect(await written(run.id)).toEqual(["meal", "seat"]);
    expect(await written(`${name} between`)).toEqual([]);
    expect(await written(`${name} behind`)).toEqual([]);
    const [again] = await node.startMany(order, [{ input: { seat: name }, key: `${name} behind` }]);
    expect(again?.outcome).toBe("started");
  }
}, 40_000);

test("a database in the place of its transaction is refused before anything is written", () => {
  const database = { insert: () => {}, $queryRawUnsafe: () => {}, $connect: () => {}, isTransaction: false };
  for (const from of [fromDrizzle, fromKysely, fromKnex, fromPrisma]) {
    for (const wrong of [database, undefined, null]) {
      expect(() => from(wrong as never), from.name).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    }
  }
});

test("a library that begins its transaction with an isolation level in a step gets an error that names it", async () => {
  const tx = { query: () => Promise.reject(new RangeError("must not be sent")) };
  const step = new StepPool(tx);
  for (const text of ["begin isolation level serializable", "start transaction read only", "BEGIN READ ONLY;"]) {
    await expect(step.query(text)).rejects.toMatchObject({ code: "INVALID_INPUT", path: "transaction" });
  }
});

test("transactions that a library opens at once do not end each other", async () => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const sent: string[] = [];
  const tx = {
    query: (text: string) => {
      sent.push(text);
      return client.query(text);
    },
  };
  const step = new StepPool(tx as never);
  await client.query("begin");
  const [one, two] = [await step.connect(), await step.connect()];
  await one.query("begin");
  await two.query("begin");
  await two.query("rollback");
  await one.query("commit");
  expect(sent.map((text) => text.replace(/savepoint /, ""))).toEqual([
    "holdfast_1",
    "holdfast_2",
    "rollback to holdfast_2",
    "release holdfast_2",
    "release holdfast_1",
  ]);
  await client.query("rollback");
  await client.end();
});
