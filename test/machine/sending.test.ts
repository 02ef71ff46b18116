// Sending events to instances, with and without a lease, in virtual time.

import { describe, expect, test } from "vitest";
import { assign, emit, log, setup } from "xstate";
import { machine } from "../../src/machine/index.js";
import { memoryTransaction } from "../../src/store/memory/table/transaction.js";
import { orderMachine } from "./order-machine.js";
import { open } from "./virtual-node.js";

const adding = () =>
  setup({ types: {} as { context: { n: number }; events: { type: "ADD" } } }).createMachine({
    context: { n: 0 },
    on: { ADD: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
  });

describe("a value that is not an event", () => {
  test("is rejected before anything is done, and does not affect events sent with it", async () => {
    const program = machine("adding", adding());
    const { node, done } = await open([program]);
    const one = await done(node.start(program));
    const odd = [null, undefined, "ADD", {}, { type: 7 }, { type: "" }, { type: "xstate.after.1000.(machine)" }];
    const sends = odd.flatMap((event) => [one.send(event as never), one.send({ type: "ADD" })]);
    const settled = await done(Promise.allSettled(sends));
    expect(settled.map((each) => (each.status === "rejected" ? each.reason.code : each.value.outcome))).toEqual(
      odd.flatMap(() => ["INVALID_INPUT", "applied"]),
    );
    expect(await done(one.state())).toMatchObject({ context: { n: odd.length } });
  });

  test("an event that is applied later cannot expect a sequence", async () => {
    const program = machine("adding", adding());
    const { node, store, done } = await open([program]);
    const one = await done(node.start(program));
    const tx = memoryTransaction(store);
    const late = { code: "INVALID_INPUT", message: expect.stringContaining("expectedSeq") };
    await expect(done(one.send({ type: "ADD" }, { tx, expectedSeq: 1 } as never))).rejects.toMatchObject(late);
    await expect(done(one.send({ type: "ADD" }, { delay: "1s", expectedSeq: 1 } as never))).rejects.toMatchObject(late);
  });
});

test("redacted fields appear neither in history nor in the machine's events and logs", async () => {
  const definition = setup({
    types: {} as {
      context: { card: string; name: string };
      input: { card: string };
      events: { type: "PAY"; card: string; cents: number };
    },
  }).createMachine({
    context: ({ input }) => ({ card: input.card, name: "Ann" }),
    on: {
      PAY: {
        actions: [
          assign({ card: ({ event }) => event.card }),
          emit(({ event }) => ({ type: "paid", card: event.card, cents: event.cents })),
          log(({ context }) => context),
        ],
      },
    },
  });
  const program = machine("secret", definition, { redact: ["input.card", "context.card", "event.card"] });
  const { node, done } = await open([program]);
  const told: unknown[] = [];
  for (const name of ["instance.started", "instance.moved", "machine.emitted", "machine.logged"] as const) {
    node.on(name, (facts) => told.push(facts));
  }
  const one = await done(node.start(program, { card: "4111" }));
  await done(one.send({ type: "PAY", card: "4222", cents: 5 }));
  const history = await done(one.history());
  expect(history.map(({ event }) => event)).toEqual([
    { card: "[redacted]" },
    { type: "PAY", card: "[redacted]", cents: 5 },
  ]);
  expect(told).toHaveLength(4);
  expect(told).toMatchObject([
    ...[{}, {}, { event: { type: "paid", card: "[redacted]", cents: 5 } }],
    { value: { card: "[redacted]", name: "Ann" } },
  ]);
  expect(JSON.stringify([history, told])).not.toMatch(/4111|4222/);
  // The code itself sees what is stored.
  expect(await done(one.state())).toMatchObject({ context: { card: "4222" } });
});

test("two processes send at once with rare snapshots: each snapshot is of its sequence, and nothing is lost", async () => {
  const program = machine("seldom", adding(), { snapshotEvery: 3 });
  const first = await open([program]);
  const second = await open([program], first.world, first.store);
  const here = await first.done(first.node.start(program, undefined, { id: "i" }));
  const there = second.node.instance(program, "i");
  const sends = Array.from({ length: 60 }, (_, i) => (i % 2 ? here : there).send({ type: "ADD" }));
  await first.done(Promise.all(sends));
  const [loaded] = await first.store.machines.load([here.key]);
  const { state } = JSON.parse(loaded!.snapshot.data) as { state: { context: { n: number } } };
  expect(state.context.n).toBe(loaded!.snapshotSeq - 1);
  const reader = await open([program], first.world, first.store);
  const read = await reader.done(reader.node.instance(program, "i").state());
  expect(read).toMatchObject({ seq: 61, context: { n: 60 } });
});

describe("locking by lease", () => {
  test("sends of many processes are serialised: no event is lost, and conflicts are rare", async () => {
    const locked = machine("locked", adding(), { locking: "lease" });
    const first = await open([locked]);
    const second = await open([locked], first.world, first.store);
    const conflicts: number[] = [];
    for (const { node } of [first, second]) node.on("instance.conflict", ({ actual }) => conflicts.push(actual));
    const here = await first.done(first.node.start(locked, undefined, { id: "i" }));
    const there = second.node.instance(locked, "i");
    for (let round = 0; round < 5; round++) {
      const sends = Array.from({ length: 10 }, (_, i) => (i % 2 ? here : there).send({ type: "ADD" }));
      await first.done(Promise.all(sends));
    }
    expect(await first.done(here.state())).toMatchObject({ context: { n: 50 } });
    // A cached state may be old, which is detected before anything is lost. Under the lease no other process moves it.
    expect(conflicts.length).toBeLessThanOrEqual(10);
  });

  test("a lease whose holder died is waited for, and then taken over", async () => {
    const locked = machine("locked", adding(), { locking: "lease" });
    const { world, store, node, done } = await open([locked]);
    const one = await done(node.start(locked, undefined, { id: "i" }));
    const request = { env: "default", key: `instance:${one.key}`, owner: "gone", token: world.token(), leaseMs: 4_000 };
    await store.leases.acquire(request);
    const from = world.monotonicNow();
    expect(await done(one.send({ type: "ADD" }))).toMatchObject({ outcome: "applied" });
    expect(world.monotonicNow() - from).toBeGreaterThanOrEqual(4_000);
  });

  test("a lease that stays held is reported as busy, and nothing is written", async () => {
    const locked = machine("locked", adding(), { locking: "lease" });
    const { world, store, node, done } = await open([locked]);
    const one = await done(node.start(locked, undefined, { id: "i" }));
    const request = { env: "default", key: `instance:${one.key}`, owner: "x", token: world.token(), leaseMs: 60_000 };
    await store.leases.acquire(request);
    await expect(done(one.send({ type: "ADD" }))).rejects.toMatchObject({ code: "INSTANCE_BUSY" });
    expect(await done(one.state())).toMatchObject({ seq: 1 });
  });

  test("events of which one cannot be stored are sent one by one under the same lease", async () => {
    const { orders } = orderMachine("odd-name");
    const locked = { ...orders, locking: "lease" as const };
    const { store, node, done } = await open([locked]);
    const held: number[] = [];
    const { acquire } = store.leases;
    Object.assign(store.leases, {
      acquire: async (...args: Parameters<typeof acquire>) => {
        const answer = await acquire(...args);
        if (answer.outcome !== "busy") held.push(1);
        return answer;
      },
    });
    const one = await done(node.start(locked, { email: "" }));
    // A text column cannot hold a NUL.
    const sends = [one.send({ type: "NOTE" }), one.stop({ by: "a\0b" }), one.send({ type: "NOTE" })];
    const settled = await done(Promise.allSettled(sends));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(held).toHaveLength(1);
    expect(await done(one.state())).toMatchObject({ context: { notes: 2 }, status: "active" });
  });
});
