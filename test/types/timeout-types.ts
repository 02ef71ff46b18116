// Timeouts and leaders: what compiles and what does not. The compiler is the test.

import { createLeader } from "../../src/lease/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { type TimeoutStore, TimeoutSweeper, type timeoutStore } from "../../src/timeout/index.js";

type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};

type OrderId = `order-${number}`;
type State = "pending" | "paid";
declare const timeouts: TimeoutStore<OrderId, State>;

export async function scheduling(): Promise<void> {
  const scheduled = await timeouts.schedule("order-1", { state: "pending", sequence: 1, in: "30m" });
  is<Is<typeof scheduled.instance, OrderId>>();
  is<Is<typeof scheduled.state, State>>();
  await timeouts.schedule("order-1", { state: "paid", sequence: 1, at: new Date(0), keep: true });
  // @ts-expect-error not an id of these instances
  await timeouts.schedule("ticket-1", { state: "pending", sequence: 1, in: "30m" });
  // @ts-expect-error no state of these instances
  await timeouts.schedule("order-1", { state: "shipped", sequence: 1, in: "30m" });
  // @ts-expect-error no duration
  await timeouts.schedule("order-1", { state: "pending", sequence: 1, in: "half an hour" });
  // @ts-expect-error both
  await timeouts.schedule("order-1", { state: "pending", sequence: 1, in: "30m", at: 0 });
  // @ts-expect-error neither
  await timeouts.schedule("order-1", { state: "pending", sequence: 1 });
  // @ts-expect-error completing needs a claim
  await timeouts.complete(scheduled);
  const answer = await timeouts.claim(scheduled, "node-1", { claimMs: 1_000 });
  // @ts-expect-error only if it was claimed
  await timeouts.complete(answer.claim);
  if (answer.outcome === "claimed") is<Is<Awaited<ReturnType<typeof timeouts.complete>>, boolean>>();
}

export const sweeper = new TimeoutSweeper({
  store: timeouts,
  fire: async ({ instance, state }, { complete }) => {
    is<Is<typeof instance, OrderId>>();
    is<Is<typeof state, State>>();
    // @ts-expect-error without a transaction the sweeper does it
    await complete();
    return "fired";
  },
});

// @ts-expect-error a handler says whether its write moved the instance
new TimeoutSweeper({ store: timeouts, fire: async () => {} });
// @ts-expect-error true is no outcome
new TimeoutSweeper({ store: timeouts, fire: async () => true });
// @ts-expect-error the option is called sweepInterval
new TimeoutSweeper({ store: timeouts, fire: async () => "stale", interval: "5s" });

const store = memoryStore();
is<Is<ReturnType<typeof timeoutStore<OrderId, State>>, TimeoutStore<OrderId, State>>>();
createLeader({ store, owner: "a", key: "k", lease: "30s", renew: "10s" });
// @ts-expect-error a store or claims
createLeader({ owner: "a", key: "k" });
