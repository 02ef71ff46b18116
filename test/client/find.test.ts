// Finding runs, approvals, tasks and leases from a client, and following the ends of all runs.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { EndEvent } from "../../src/client/watch-ends.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

onBothStores((bench) => {
  const order = workflow("order", async (ctx, cents: number) => {
    if (cents === 13) throw new Error("unlucky");
    if (cents > 1_000) await ctx.approval("pay", { ask: `Pay ${cents}?`, plan: { cents }, to: "bank", timeout: "1h" });
    return cents;
  });
  const limit = { timeout: "10s" } as const;

  test("runs are found by key, attribute, state and time", async () => {
    const node = await bench.open({ programs: [order], env: "found" });
    const client = createClient({ store: bench.store, env: "found" });
    const run = await node.start(order, 1, { key: "order-1", attributes: { customer: "ann", vip: true } });
    const other = await node.start(order, 13, { key: "order-2", attributes: { customer: "bob" } });
    await Promise.allSettled([run.result(limit), other.result(limit)]);
    const found = await client.runs.get({ program: order, key: "order-1" });
    expect(await found!.result(limit)).toBe(1);
    expect(await node.runs.get({ program: "order", key: "order-3" })).toBeNull();
    const ids = async (query: Parameters<typeof client.runs.list>[0]) =>
      (await client.runs.list(query)).runs.map(({ id }) => id);
    expect(await ids({ attributes: { customer: "ann" } })).toEqual([run.id]);
    expect(await ids({ program: order, state: "failed" })).toEqual([other.id]);
    expect(await ids({ keyPrefix: "order-", since: "1h", until: new Date(Date.now() + 60_000) })).toEqual([
      ...[other.id, run.id],
    ]);
    expect(await ids({ node: "no such node" })).toEqual([]);
    const page = await client.runs.list({}, { limit: 1 });
    expect((await client.runs.list({}, { limit: 1, after: page.next! })).runs[0]!.id).toBe(run.id);
    expect(await client.runs.count({ program: "order" })).toEqual({ n: 2, atLeast: false });
    expect(await client.runs.count({}, { most: 1 })).toEqual({ n: 1, atLeast: true });
    await expect(client.runs.list({ until: "soon" as never })).rejects.toThrow("valid Date");
  });

  test("approvals are listed with what is shown, and decided once", async () => {
    const node = await bench.open({ programs: [order], env: "asked" });
    const client = createClient({ store: bench.store, env: "asked" });
    const run = await node.start(order, 5_000);
    await expect.poll(async () => (await client.approvals.list()).rows.length, { timeout: 5_000 }).toBe(1);
    expect((await client.approvals.list({ to: "warehouse" })).rows).toEqual([]);
    const [asked] = (await client.approvals.list({ to: "bank" })).rows;
    expect(asked).toMatchObject({ runId: run.id, program: "order", approval: "pay", ask: "Pay 5000?" });
    expect(asked).toMatchObject({ choices: ["approved", "denied"], plan: { cents: 5_000 } });
    expect(asked!.until! - asked!.since).toBe(3_600_000);
    const changed = { ...asked!, hash: "another" };
    await expect(client.approvals.decide(changed, { choice: "approved", by: "ann" })).rejects.toThrow();
    await client.approvals.decide(asked!, { choice: "approved", by: "ann" });
    expect(await run.result(limit)).toBe(5_000);
    await expect.poll(async () => (await client.approvals.list()).rows).toEqual([]);
  });

  test("the tasks of a run, and named leases", async () => {
    const a = task(async () => 1);
    const b = task({ needs: { a } }, async () => 2);
    const two = dag("two", { a, b });
    const node = await bench.open({ programs: [two], env: "tasks" });
    const client = createClient({ store: bench.store, env: "tasks" });
    const run = await node.start(two);
    await run.result(limit);
    const tasks = await client.run(run.id).tasks();
    expect(tasks.map(({ name, state }) => [name, state])).toEqual([
      ["a", "completed"],
      ["b", "completed"],
    ]);
    const { runs } = await client.runs.list({ parent: run.id });
    expect(runs.map(({ id }) => id).sort()).toEqual(tasks.map(({ runId }) => runId).sort());
    const lease = { env: "tasks", key: "mail/1", owner: "me", token: crypto.randomUUID(), leaseMs: 60_000 };
    await bench.store.leases.acquire(lease);
    const { rows } = await client.leases.list({ prefix: "mail/" });
    expect(rows.map(({ key, owner, state }) => [key, owner, state])).toEqual([["mail/1", "me", "claimed"]]);
  });

  test("the ends of all runs are followed from now on, and from a cursor", async () => {
    const node = await bench.open({ programs: [order], env: "feed" });
    const client = createClient({ store: bench.store, env: "feed" });
    const seen: EndEvent[] = [];
    const stop = new AbortController();
    const followed = (async () => {
      for await (const event of client.watch({ signal: stop.signal })) seen.push(event);
    })();
    // A feed from now on begins with its first look.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const runs = await Promise.all([1, 2, 13].map((cents) => node.start(order, cents)));
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(3);
    expect(new Set(seen.map(({ runId }) => runId))).toEqual(new Set(runs.map(({ id }) => id)));
    expect(seen.find(({ runId }) => runId === runs[2]!.id)).toMatchObject({ state: "failed", program: "order" });
    const again: string[] = [];
    for await (const { runId, state } of node.watch({ program: order, states: ["failed"], after: seen[0]!.cursor })) {
      again.push(`${runId} ${state}`);
      break;
    }
    expect(again).toEqual([`${runs[2]!.id} failed`]);
    stop.abort();
    await followed;
    await expect(client.watch({ states: ["running" as never] }).next()).rejects.toThrow("must be one of");
    await expect(client.watch({ after: "x" }).next()).rejects.toThrow("cursor");
  });

  test("many watchers cost no more statements than one", async () => {
    const node = await bench.open({ programs: [order], env: "crowd" });
    const { ended } = bench.store.views;
    let looks = 0;
    const look: typeof ended = (request) => {
      looks++;
      return ended(request);
    };
    const counted = {
      ...bench.store,
      views: { ...bench.store.views, ended: look },
    };
    const client = createClient({ store: counted, env: "crowd" });
    const stop = new AbortController();
    const seen = new Set<string>();
    const watchers = Array.from({ length: 50 }, async (_, i) => {
      for await (const { runId } of client.watch({ signal: stop.signal })) seen.add(`${i} ${runId}`);
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    await node.start(order, 1);
    await expect.poll(() => seen.size, { timeout: 10_000 }).toBe(50);
    const [before, startedAt] = [looks, Date.now()];
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((looks - before) / ((Date.now() - startedAt) / 1_000)).toBeLessThanOrEqual(20);
    stop.abort();
    await Promise.all(watchers);
  });
});
