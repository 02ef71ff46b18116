// Timers in virtual time: each fires once in its generation, whatever happens to its instance and its node.

import { describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { createClient } from "../../src/client/create-client.js";
import { machine } from "../../src/machine/index.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { orderMachine } from "./order-machine.js";
import { MINUTE, open } from "./virtual-node.js";

describe("generations", () => {
  test("staying in a state neither kills nor restarts its timer", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, done } = await open([orders]);
    const order = await done(node.start(orders, { email: "" }));
    await world.advance(MINUTE / 2);
    await done(order.send({ type: "NOTE" }));
    expect(await done(order.timers())).toMatchObject([{ generation: 1 }]);
    await world.advance(MINUTE / 2 - 1_000);
    expect(await done(order.state())).toMatchObject({ value: "pending" });
    await world.advance(1_100);
    expect(await done(order.state())).toMatchObject({ value: "expired", context: { notes: 1 } });
  });

  test("entering the state again restarts it", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, done } = await open([orders]);
    const order = await done(node.start(orders, { email: "" }));
    await world.advance(MINUTE / 2);
    await done(order.send({ type: "RESET" }));
    expect(await done(order.timers())).toMatchObject([{ generation: 2 }]);
    await world.advance(MINUTE / 2 + 1_000);
    expect(await done(order.state())).toMatchObject({ value: "pending" });
    await world.advance(MINUTE / 2);
    expect(await done(order.state())).toMatchObject({ value: "expired" });
  });

  test("when a state is left and entered again, the old timer is gone and the new one counts", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, done } = await open([orders]);
    const order = await done(node.start(orders, { email: "" }));
    await done(order.send({ type: "LEAVE" }));
    expect(await done(order.timers())).toEqual([]);
    await world.advance(MINUTE / 2);
    await done(order.send({ type: "BACK" }));
    await world.advance(MINUTE / 2 + 1_000);
    expect(await done(order.state())).toMatchObject({ value: "pending" });
    await world.advance(MINUTE / 2);
    expect(await done(order.state())).toMatchObject({ value: "expired" });
  });

  test("a timer that was claimed before its state was left does not fire into the next stay", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, store, done } = await open([orders]);
    const order = await done(node.start(orders, { email: "" }));
    // Another node claims it, and pauses for a while.
    world.block(MINUTE);
    const group = { env: "default", stack: null, queue: "o", program: "o", version: null };
    const claim = { groups: [group], limit: 10, leaseMs: 5_000, mostAttempts: 10 };
    const [taken] = (await store.machines.claimTimers(claim)).timers;
    await done(order.send({ type: "LEAVE" }));
    await done(order.send({ type: "BACK" }));
    expect(await store.machines.settleTimers([{ ...settled(taken!), as: "drop" }])).toBe(0);
    expect(await done(order.timers())).toMatchObject([{ generation: 3 }]);
    await world.advance(MINUTE - 2_000);
    expect(await done(order.state())).toMatchObject({ value: "pending", seq: 3 });
    await world.advance(3_000);
    expect(await done(order.state())).toMatchObject({ value: "expired", seq: 4 });
  });

  test("after an event between poll and fire, the timer of the old stay does not fire into the new one", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const world = new VirtualWorld();
    const store = memoryStore({ world });
    const outside = createClient({ store }, world).instance(orders, "o");
    let meanwhile: (() => Promise<unknown>) | null = null;
    const slow: Store = {
      ...store,
      machines: {
        ...store.machines,
        claimTimers: async (claim) => {
          const taken = await store.machines.claimTimers(claim);
          if (taken.timers.length > 0 && meanwhile) {
            const happens = meanwhile;
            meanwhile = null;
            await happens();
          }
          return taken;
        },
      },
    };
    const { node, done } = await open([orders], world, slow);
    const order = await done(node.start(orders, { email: "" }, { id: "o" }));
    meanwhile = async () => {
      await outside.send({ type: "LEAVE" });
      await outside.send({ type: "BACK" });
    };
    await world.advance(MINUTE + 10_000);
    expect(await done(order.state())).toMatchObject({ value: "pending", seq: 3 });
    expect(await done(order.timers())).toMatchObject([{ generation: 3 }]);
    await world.advance(MINUTE);
    expect(await done(order.state())).toMatchObject({ value: "expired", seq: 4 });
  });

  test("two machines with the same ids keep their timers apart", async () => {
    const [a, b] = [orderMachine("fast", MINUTE).orders, orderMachine("slow", 2 * MINUTE).orders];
    const { world, node, done } = await open([a, b]);
    const one = await done(node.start(a, { email: "" }, { id: "same" }));
    const two = await done(node.start(b, { email: "" }, { id: "same" }));
    await world.advance(MINUTE + 1_000);
    expect(await done(one.state())).toMatchObject({ value: "expired" });
    expect(await done(two.state())).toMatchObject({ value: "pending" });
    await world.advance(MINUTE);
    expect(await done(two.state())).toMatchObject({ value: "expired" });
  });
});

function settled({ id, generation, attempts }: { id: string; generation: number; attempts: number }) {
  return { id, generation, attempts, delayMs: 0, problem: null };
}

describe("nodes that come and go", () => {
  test("a process that dies after any call leaves a state with its timer, or neither", async () => {
    const { orders } = orderMachine("o", MINUTE);
    for (let calls = 1; calls <= 5; calls++) {
      const world = new VirtualWorld();
      const store = memoryStore({ world });
      let left = calls;
      const dying = <T>(call: () => Promise<T>) => (left-- > 0 ? call() : new Promise<T>(() => {}));
      const machines = {
        ...store.machines,
        create: (...args: Parameters<Store["machines"]["create"]>) => dying(() => store.machines.create(...args)),
        append: (...args: Parameters<Store["machines"]["append"]>) => dying(() => store.machines.append(...args)),
      };
      const order = createClient({ store: { ...store, machines } }, world);
      void (async () => {
        const one = await order.start(orders, { email: "" }, { id: "o" });
        for (const type of ["RESET", "LEAVE", "BACK", "RESET"] as const) await one.send({ type });
      })();
      await world.advance(1_000);
      const [loaded] = await store.machines.load([createClient({ store }, world).instance(orders, "o").key]);
      const timers = await store.machines.timers(loaded!.key);
      const entered = { pending: loaded!.seq, away: null }[JSON.parse(loaded!.value) as "pending" | "away"];
      expect({ calls, timers: timers.map(({ generation }) => generation) }).toEqual({
        calls,
        timers: entered === null ? [] : [entered],
      });
    }
  });

  test("a timer whose deadline passes while no node runs fires at once when a node starts", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const first = await open([orders]);
    const order = await first.done(first.node.start(orders, { email: "" }, { id: "o" }));
    await first.done(first.node.stop({ grace: 0 }));
    await first.world.advance(10 * MINUTE);
    expect(await first.done(order.state())).toMatchObject({ value: "pending" });
    const second = await open([orders], first.world, first.store);
    await first.world.advance(100);
    expect(await second.done(second.node.instance(orders, "o").state())).toMatchObject({ value: "expired" });
  });

  test("timers claimed by a node that died are fired by other nodes when their lease expires", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, store, done } = await open([orders]);
    const order = await done(node.start(orders, { email: "" }));
    world.block(MINUTE);
    const group = { env: "default", stack: null, queue: "o", program: "o", version: null };
    await store.machines.claimTimers({ groups: [group], limit: 10, leaseMs: 5_000, mostAttempts: 10 });
    await world.advance(4_000);
    expect(await done(order.state())).toMatchObject({ value: "pending" });
    await world.advance(7_000);
    expect(await done(order.state())).toMatchObject({ value: "expired" });
  });

  test("timers claimed by a node that died are fired as soon as it is gone, long before its claim ends", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, store, done } = await open([orders], undefined, undefined, { timing: { timerClaim: "20s" } });
    const dead = world.token();
    const who = { incarnation: dead, identity: "dead", name: "dead", env: "default", stack: null, build: null };
    await done(store.nodes.register({ ...who, heartbeatMs: 1_000, presenceGraceMs: 1_000, leaseMs: 15_000 }));
    const attendance = await done(store.attend({ incarnation: dead, onWake: () => {} }));
    const order = await done(node.start(orders, { email: "" }));
    await world.advance(MINUTE - 1_000);
    await done(store.nodes.heartbeat(dead));
    world.block(1_000);
    const group = { env: "default", stack: null, queue: "o", program: "o", version: null };
    const claim = { groups: [group], limit: 10, leaseMs: 20_000, mostAttempts: 10, owner: dead };
    expect((await store.machines.claimTimers(claim)).timers).toHaveLength(1);
    await attendance.leave();
    await world.advance(6_000);
    expect(await done(order.state())).toMatchObject({ value: "expired" });
  });

  test("of ten nodes one looks at each deadline, and the others seldom; when it stops, the next one does", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const world = new VirtualWorld();
    const store = memoryStore({ world });
    let [looks, empty] = [0, 0];
    const claimTimers: Store["machines"]["claimTimers"] = async (claim) => {
      const claimed = await store.machines.claimTimers(claim);
      looks++;
      if (claimed.timers.length === 0) empty++;
      return claimed;
    };
    const counted = { ...store, machines: { ...store.machines, claimTimers } };
    const opened = [];
    for (let n = 0; n < 10; n++) opened.push(await open([orders], world, counted));
    const late: number[] = [];
    for (const { node } of opened) node.on("timer.fired", ({ lateMs }) => late.push(lateMs));
    await world.advance(3_000);
    const { node, done } = opened[0]!;
    for (let n = 0; n < 200; n++) {
      await done(node.start(orders, { email: "" }, { id: `o-${n}` }));
      await world.advance(95);
    }
    await world.advance(MINUTE - 22_000);
    [looks, empty] = [0, 0];
    await world.advance(22_000);
    expect(late).toHaveLength(200);
    expect(Math.max(...late)).toBeLessThan(30);
    // With every node at every deadline there were 1,995 looks, 1,795 of them for nothing.
    expect(empty, `${looks} looks`).toBeLessThan(600);
    const first = opened.toSorted((a, b) => (a.node.incarnation < b.node.incarnation ? -1 : 1))[0]!;
    const other = opened.find(({ node }) => node !== first.node)!;
    const order = await done(other.node.start(orders, { email: "" }, { id: "last" }));
    await done(first.node.stop({ grace: 0 }));
    await world.advance(MINUTE + 700);
    expect(await other.done(order.state())).toMatchObject({ value: "expired" });
  });

  test("the loop sleeps until the next deadline instead of polling", async () => {
    const { orders } = orderMachine("o", 1_234);
    const { world, node, done } = await open([orders]);
    const late: number[] = [];
    node.on("timer.fired", ({ lateMs }) => late.push(lateMs));
    await done(node.start(orders, { email: "" }));
    await world.advance(1_300);
    expect(late).toHaveLength(1);
    expect(late[0]).toBeLessThan(20);
  });

  test("timers in memory fire without a row, and die with their process", async () => {
    const definition = setup({ types: {} as { events: { type: "GO" } | { type: "BACK" } } }).createMachine({
      initial: "a",
      states: { a: { after: { 1000: "b" }, on: { GO: "c" } }, b: {}, c: { on: { BACK: "a" } } },
    });
    const quick = machine("quick", definition, { timers: "memory" });
    const { world, store, node, done } = await open([quick]);
    const [one, two, three] = await done(
      Promise.all([node.start(quick), node.start(quick), node.start(quick, undefined, { id: "three" })]),
    );
    expect(await done(one!.timers())).toEqual([]);
    await world.advance(600);
    await done(two!.send({ type: "GO" }));
    await done(two!.send({ type: "BACK" }));
    await world.advance(600);
    expect(await done(one!.state())).toMatchObject({ value: "b" });
    // The first stay's timer has ended; the second has its own.
    expect(await done(two!.state())).toMatchObject({ value: "a" });
    await world.advance(600);
    expect(await done(two!.state())).toMatchObject({ value: "b" });
    expect(await done(three!.state())).toMatchObject({ value: "b" });
    const four = await done(node.start(quick, undefined, { id: "four" }));
    await done(node.stop({ grace: 0 }));
    const next = await open([quick], world, store);
    await world.advance(5_000);
    expect(await next.done(four.state())).toMatchObject({ value: "a" });
  });
});

describe("timers that cannot fire", () => {
  const poisonous = (throws: () => boolean) =>
    machine(
      "poison",
      setup({
        types: {} as { context: { bad: boolean }; input: { bad: boolean }; events: { type: "NOTHING" } },
        guards: {
          fine: ({ context }) => {
            if (context.bad && throws()) throw new Error("poison");
            return true;
          },
        },
      }).createMachine({
        context: ({ input }) => input,
        initial: "a",
        states: { a: { after: { 1000: { guard: "fine", target: "b" } } }, b: {} },
      }),
    );

  test("a failing timer backs off, is given up in the end, and can be retried", async () => {
    let bad = true;
    const program = poisonous(() => bad);
    const { world, node, done } = await open([program]);
    const dead: string[] = [];
    node.on("timer.dead", ({ id }) => dead.push(id));
    const one = await done(node.start(program, { bad: true }));
    await world.advance(1_500);
    const [timer] = await done(one.timers());
    expect(timer).toMatchObject({ attempts: 1, state: "pending", problem: expect.stringContaining("poison") });
    await world.advance(12 * MINUTE);
    expect(await done(one.timers())).toMatchObject([{ attempts: 10, state: "dead" }]);
    expect(dead).toEqual([one.id]);
    bad = false;
    expect(await done(one.retryTimers())).toBe(1);
    await world.advance(1_000);
    expect(await done(one.state())).toMatchObject({ value: "b" });
  });

  test("more failing timers than one poll returns delay no other timer", async () => {
    const program = poisonous(() => true);
    const { world, node, done } = await open([program]);
    await done(Promise.all(Array.from({ length: 300 }, () => node.start(program, { bad: true }))));
    const good = await done(Promise.all(Array.from({ length: 10 }, () => node.start(program, { bad: false }))));
    await world.advance(1_500);
    for (const one of good) expect(await done(one.state())).toMatchObject({ value: "b" });
  });

  test("a timer whose guard does not hold has ended, as in XState", async () => {
    const definition = setup({
      types: {} as { context: { ready: boolean }; events: { type: "READY" } },
      guards: { ready: ({ context }) => context.ready },
    }).createMachine({
      context: { ready: false },
      initial: "a",
      states: {
        a: { after: { 1000: { guard: "ready", target: "b" } }, on: { READY: { actions: assign({ ready: true }) } } },
        b: {},
      },
    });
    const program = machine("guarded", definition);
    const { world, node, done } = await open([program]);
    const skipped: string[] = [];
    node.on("timer.skipped", ({ timer }) => skipped.push(timer));
    const one = await done(node.start(program));
    await world.advance(2_000);
    expect(skipped).toEqual(["after 1s in a"]);
    expect(await done(one.timers())).toEqual([]);
    await done(one.send({ type: "READY" }));
    await world.advance(5_000);
    expect(await done(one.state())).toMatchObject({ value: "a" });
  });
});
