// Timeouts on real connections: many claims at once, rows that a caller's transaction holds, firing in one transaction.

import { expect, test } from "vitest";
import { timeoutStore } from "../../../src/timeout/store-timeouts.js";
import type { TimeoutStore } from "../../../src/timeout/timeout-store.js";
import { scene } from "../scene.js";

const s = scene();
const stores = Array.from({ length: 6 }, () => s.open());
const PENDING = { state: "pending", sequence: 1 } as const;

async function due(timeouts: TimeoutStore, count: number) {
  await Promise.all(Array.from({ length: count }, (_, i) => timeouts.schedule(`i${i}`, { ...PENDING, in: 0 })));
  return (await timeouts.queryExpired(count)).timeouts;
}

async function transaction<T>(work: (tx: import("pg").PoolClient) => Promise<T>, end = "commit"): Promise<T> {
  const client = await s.pool.connect();
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query(end);
    return result;
  } finally {
    client.release();
  }
}

test("six processes claim two hundred timeouts in different orders: each is claimed once, completed once, without a deadlock", async () => {
  const scopes = stores.map((store) => timeoutStore(store, { scope: "many" }));
  const timeouts = await due(scopes[0]!, 200);
  const results = await Promise.all(
    scopes.map(async (scope, n) => {
      const order = n % 2 === 0 ? timeouts : timeouts.toReversed();
      const answers = await Promise.all(order.map((one) => scope.claim(one, `n${n}`, { claimMs: 60_000 })));
      const claims = answers.flatMap((answer) => (answer.outcome === "claimed" ? answer.claim : []));
      const others = answers.filter(({ outcome }) => outcome === "alreadyClaimed").length;
      const completed = await Promise.all(claims.map((claim) => scope.complete(claim)));
      return { claims: claims.length, others, completed: completed.filter(Boolean).length };
    }),
  );
  const sum = (name: "claims" | "completed") => results.reduce((total, one) => total + one[name], 0);
  expect([sum("claims"), sum("completed")]).toEqual([200, 200]);
  expect((await scopes[0]!.queryExpired(10)).timeouts).toEqual([]);
});

test("a late complete and the new claimer's at the same time: the late one does nothing", async () => {
  const [mine, theirs] = stores.map((store) => timeoutStore(store, { scope: "late" }));
  const [timeout] = await due(mine!, 1);
  const late = await mine!.claim(timeout!, "a", { claimMs: 1 });
  let live = await theirs!.claim(timeout!, "b", { claimMs: 60_000 });
  while (live.outcome !== "claimed") live = await theirs!.claim(timeout!, "b", { claimMs: 60_000 });
  expect(late.outcome).toBe("claimed");
  const lateClaim = late.outcome === "claimed" ? late.claim : null;
  // Through one store, so that both are in one statement.
  const answers = await Promise.all([mine!.complete(lateClaim!), mine!.complete(live.claim)]);
  expect(answers).toEqual([false, true]);
});

test("an instance that moves in an open transaction delays only the claim of its own timeout", async () => {
  const timeouts = timeoutStore(s.store, { scope: "held" });
  const [held, free] = await due(timeouts, 2);
  await transaction(async (tx) => {
    await timeouts.schedule(held!.instance, { state: "started", sequence: 2, in: "1h" }, { tx });
    const claims = [held!, free!].map((one) => timeouts.claim(one, "a", { claimMs: 60_000 }));
    expect((await Promise.all(claims)).map(({ outcome }) => outcome)).toEqual(["alreadyClaimed", "claimed"]);
  });
  expect(await timeouts.claim(held!, "a", { claimMs: 60_000 })).toEqual({ outcome: "stateChanged" });
  expect(await timeouts.get(held!.instance)).toMatchObject({ sequence: 2, claimedBy: null });
});

test("completed in the transaction that moves the instance: both or neither, whatever else moves it", async () => {
  await s.pool.query(`create table ${s.schema}.orders (id text primary key, state text, seq int)`);
  const timeouts = timeoutStore(s.store, { scope: "one-transaction" });
  const [timeout] = await due(timeouts, 1);
  await s.pool.query(`insert into ${s.schema}.orders values ($1, 'pending', 1)`, [timeout!.instance]);
  const answer = await timeouts.claim(timeout!, "a", { claimMs: 60_000 });
  const claim = answer.outcome === "claimed" ? answer.claim : null;
  const fire = (end: string) =>
    transaction(async (tx) => {
      const moved = await tx.query(
        `update ${s.schema}.orders set state = 'expired', seq = 2 where id = $1 and state = $2 and seq = $3`,
        [claim!.instance, claim!.state, claim!.sequence],
      );
      return moved.rowCount === 1 && (await timeouts.complete(claim!, { tx }));
    }, end);
  expect(await fire("rollback")).toBe(true);
  expect(await timeouts.get(claim!.instance)).toMatchObject({ claimedBy: "a" });
  expect(await fire("commit")).toBe(true);
  expect(await timeouts.get(claim!.instance)).toBeNull();
  expect(await fire("commit")).toBe(false);
});

test("when many schedule the same instance at once, one timeout is left, and every caller got one", async () => {
  const all = stores.map((store) => timeoutStore(store, { scope: "same" }));
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      all[i % 6]!.schedule("i", { state: "pending", sequence: i, in: "1h", keep: i % 2 === 0 }),
    ),
  );
  expect(new Set(answers.map(({ generation }) => generation)).size).toBe(60);
  const there = await all[0]!.get("i");
  expect(answers.map(({ generation }) => generation)).toContain(there!.generation);
  const kept = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      all[i % 6]!.schedule("j", { state: "pending", sequence: 1, in: "1h", keep: true }),
    ),
  );
  expect(new Set(kept.map(({ generation }) => generation)).size).toBe(1);
});
