// Ownership of runs while connections break: a live node keeps its claims, a node that is cut off begins nothing, and another
// env reclaims nothing.

import { randomUUID } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { StoreQueue } from "../../src/compat/workflow-queue.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { deferred } from "../harness/deferred.js";
import { type FaultProxy, startProxy } from "../harness/proxy.js";

const { url, schema, pool } = testSchema();
let store: PostgresStore;
let proxy: FaultProxy;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());
beforeEach(async () => {
  const { hostname: host, port } = new URL(url);
  proxy = await startProxy({ host, port: Number(port) });
});
const opened: Node[] = [];
afterEach(async () => {
  proxy.refusing = false;
  await Promise.all(opened.splice(0).map((node) => node.stop({ grace: 0 })));
  await proxy.stop();
});

type Options = Omit<Parameters<typeof createNode>[0], "store">;

async function open(options: Options, at = url): Promise<Node> {
  const node = await createNode({ store: openPostgres(at, { schema, retryFor: "1s" }), ...options });
  opened.push(node);
  return node;
}

function listen(node: Node, name: "run.reclaimed" | "claim.lost" | "run.claimed"): { runId: string }[] {
  const heard: { runId: string }[] = [];
  node.on(name, (event) => heard.push(event as { runId: string }));
  return heard;
}

/** Ends the connection that holds the node's presence, on the server. */
async function losePresence(node: Node): Promise<void> {
  await pool.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join ${schema}.nodes n on n.presence = l.objid::bigint
     where l.locktype = 'advisory' and l.classid = ${0x686f6c64} and n.incarnation = $1`,
    [node.incarnation],
  );
}

/** Ends the connection that the schema's nodes renew on, if there is one yet: the next renewal has to open another. */
async function loseRenewals(): Promise<void> {
  await pool.query("select pg_terminate_backend(pid) from pg_stat_activity where query like $1 and query like $2", [
    `%${schema}%`,
    "%renewed as (%",
  ]);
}

const isPresent = async (node: Node) => {
  const { rows } = await pool.query(
    `select from pg_locks l join ${schema}.nodes n on n.presence = l.objid::bigint
     where l.locktype = 'advisory' and l.classid = ${0x686f6c64} and n.incarnation = $1`,
    [node.incarnation],
  );
  return rows.length > 0;
};

test("a live node whose presence cannot be opened again keeps its claims while its other connections work", {
  timeout: 60_000,
}, async () => {
  const env = `refused-${randomUUID()}`;
  const gate = deferred<string>();
  const steps: string[] = [];
  const slow = workflow("slow", async (ctx) => {
    await ctx.step("wait", () => gate.promise);
    await ctx.step("next", () => void steps.push("next"));
    return "done";
  });
  const worker = await open({ programs: [slow], env, timing: { lease: "6s" } }, proxy.url(url));
  const witness = await open({ programs: [], env, timing: { housekeeping: "100ms", presenceGrace: 0 } });
  const twin = await open({ programs: [], env });
  const stolen = [...[witness, twin].map((node) => listen(node, "run.reclaimed")), listen(worker, "claim.lost")];
  const run = await worker.start(slow);
  await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("running");
  await pass(1_000);

  proxy.refusing = true;
  await losePresence(worker);
  await loseRenewals();
  await expect.poll(() => isPresent(worker), { timeout: 5_000 }).toBe(false);
  await pass(9_000);
  expect(await isPresent(worker)).toBe(false);
  expect(stolen.flat()).toEqual([]);
  expect((await run.status()).epoch).toBe(1);
  gate.resolve("go");
  expect(await run.result({ timeout: "5s" })).toBe("done");
  expect(steps).toEqual(["next"]);
  proxy.refusing = false;
  await expect.poll(() => isPresent(worker), { timeout: 5_000 }).toBe(true);
});

test("a node that is cut off begins nothing once it can have been replaced, and continues when its claims are confirmed", {
  timeout: 60_000,
}, async () => {
  const env = `cut-${randomUUID()}`;
  const begun: { by: string; attempt: number; at: number }[] = [];
  const flaky = (by: string) =>
    workflow("flaky", async (ctx) =>
      ctx.step("once more", { retry: { attempts: 2, delay: "4s", backoff: "fixed" } }, ({ attempt }) => {
        begun.push({ by, attempt, at: performance.now() });
        if (attempt === 1) throw new Error("not yet");
        return by;
      }),
    );
  const cut = await open({ programs: [flaky("cut")], env, identity: { name: "cut" } }, proxy.url(url));
  const lost = listen(cut, "claim.lost");
  const run = await cut.start(flaky("cut"));
  await expect.poll(() => begun.length, { timeout: 5_000 }).toBe(1);
  const heir = await open({ programs: [flaky("heir")], env, identity: { name: "heir" } });
  const taken = listen(heir, "run.reclaimed");
  await pass(500);

  proxy.refusing = true;
  proxy.resetAll();
  const cutAt = performance.now();
  await expect.poll(() => taken.length, { timeout: 10_000 }).toBe(1);
  expect(performance.now() - cutAt).toBeLessThan(3_500);
  expect(await heir.run(run.id).result({ timeout: "10s" })).toBe("heir");
  await pass(2_000);
  expect(begun.map(({ by, attempt }) => [by, attempt])).toEqual([
    ["cut", 1],
    ["heir", 2],
  ]);
  proxy.refusing = false;
  await expect.poll(() => lost.length, { timeout: 10_000 }).toBe(1);
  const next = await cut.start(
    workflow("flaky", async () => {}),
    undefined,
  );
  expect(["cut", "heir"]).toContain(await next.result({ timeout: "15s" }));
});

test("a reclaim is never repeated through an outage: what was seen before it means nothing after it", {
  timeout: 20_000,
}, async () => {
  const cut = openPostgres(proxy.url(url), { schema });
  await cut.checkSchema();
  proxy.refusing = true;
  proxy.resetAll();
  const startedAt = performance.now();
  const round = { incarnation: randomUUID(), env: "none", watchedMs: 60_000, troubled: false };
  await expect(cut.reclaim({ ...round, limit: 10 })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await expect(cut.housekeep(round)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await cut.close();
});

describe("a foreign env with extreme settings", () => {
  const EXTREME = { timing: { presenceGrace: 0, lease: 10, renewEvery: 5, housekeeping: 10, pollMax: 1000 } } as const;

  test("takes nothing while the only node of another env is cut off for three seconds", {
    timeout: 60_000,
  }, async () => {
    const env = `production-${randomUUID()}`;
    const gate = deferred<string>();
    const pay = workflow("pay", { recovery: "fail" }, async (ctx) => ctx.step("pay", () => gate.promise));
    const production = await open({ programs: [pay], env, timing: { lease: "2s" } }, proxy.url(url));
    const run = await production.start(pay);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("running");
    const laptop = await open({ programs: [pay], env: "dev-jane", ...EXTREME });
    const queue = new StoreQueue(store, { env: "dev-jane", queue: "jobs" });
    await pass(500);

    proxy.refusing = true;
    proxy.resetAll();
    for (let i = 0; i < 12; i++) {
      await pass(250);
      await queue.reclaimExpired();
    }
    proxy.refusing = false;
    gate.resolve("paid");
    expect(await run.result({ timeout: "10s" })).toBe("paid");
    expect(await run.status()).toMatchObject({ state: "completed", epoch: 1, recoveries: 0 });
    expect(listen(laptop, "run.reclaimed")).toEqual([]);
  });
});
