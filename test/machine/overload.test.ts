// Many timers at once, processes that die of one, conflicting neighbours: no timer is given up for another's failure.

import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { machine } from "../../src/machine/index.js";
import { drawSuspects, isSuspect } from "../../src/machine/timer/suspect-timers.js";
import { TimerPace } from "../../src/machine/timer/timer-pace.js";
import type { TimerRecord } from "../../src/store/contract/machine/machines.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { orderMachine } from "./order-machine.js";
import { MINUTE, open } from "./virtual-node.js";

test("on a slow store, hundreds of overdue timers are each claimed once", async () => {
  const { orders } = orderMachine("o", MINUTE);
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const first = await open([orders], world, store);
  const starts = Array.from({ length: 500 }, (_, i) => first.node.start(orders, { email: "" }, { id: `o-${i}` }));
  await first.done(Promise.all(starts));
  await first.done(first.node.stop({ grace: 0 }));
  await world.advance(2 * MINUTE);
  // One append after the other, 24 ms each: all take 12 s, and other nodes may claim a timer after 5 s.
  let line: Promise<void> = Promise.resolve();
  const slow: Store = {
    ...store,
    machines: {
      ...store.machines,
      append: (appends) => {
        const turn = line.then(() => new Promise<void>((resolve) => world.after(24, resolve)));
        line = turn;
        return turn.then(() => store.machines.append(appends));
      },
    },
  };
  const taken: TimerRecord[] = [];
  const claimTimers: Store["machines"]["claimTimers"] = async (claim) => {
    const claimed = await slow.machines.claimTimers(claim);
    taken.push(...claimed.timers);
    return claimed;
  };
  await open([orders], world, { ...slow, machines: { ...slow.machines, claimTimers } });
  await world.advance(20_000);
  const { instances } = await store.machines.list({ env: "default" }, { limit: 500 });
  expect(new Set(instances.map(({ value }) => value))).toEqual(new Set(['"expired"']));
  expect(taken).toHaveLength(500);
  expect(taken.filter(({ attempts }) => attempts > 1)).toEqual([]);
});

test("a node claims as many timers as it fires in a quarter of the lease, between 25 and 1,000", async () => {
  const world = new VirtualWorld();
  const pace = new TimerPace(world, 5_000);
  expect(pace.limit).toBe(250);
  const played = async (count: number, ms: number) => {
    const arrived = pace.begin(count);
    await world.advance(ms);
    arrived();
    return pace.limit;
  };
  expect(await played(250, 2_500)).toBe(125);
  expect(await played(125, 60_000)).toBe(25);
  expect(await played(25, 10)).toBe(250);
  const open = [pace.begin(500), pace.begin(499)];
  expect(pace.isFull).toBe(false);
  open.push(pace.begin(1));
  expect(pace.isFull).toBe(true);
});

test("a node fires the timers it has set in time, also when another one is the first to look and hangs", async () => {
  const { orders } = orderMachine("o", MINUTE);
  const { orders: others } = orderMachine("p", MINUTE + 5_000);
  // Which of two nodes is the first is the store's choice: each hangs once.
  for (const hanging of [0, 1]) {
    const world = new VirtualWorld();
    const store = memoryStore({ world });
    const hangs = { ...store.machines, claimTimers: () => new Promise<never>(() => {}) };
    const nodes = [];
    for (const nth of [0, 1])
      nodes.push(await open([orders, others], world, nth === hanging ? { ...store, machines: hangs } : store));
    await world.advance(5_000);
    const { node, done } = nodes[1 - hanging]!;
    const late: number[] = [];
    node.on("timer.fired", ({ lateMs }) => late.push(lateMs));
    await done(node.start(orders, { email: "" }, { id: "one" }));
    await done(node.start(others, { email: "" }, { id: "two" }));
    const gone = await done(node.start(orders, { email: "" }, { id: "three" }));
    await world.advance(MINUTE / 2);
    await done(gone.send({ type: "LEAVE" }));
    await world.advance(MINUTE);
    expect(late).toHaveLength(2);
    for (const ms of late) expect(ms).toBeLessThan(60);
  }
});

describe("a timer that kills its process", () => {
  const timer = (id: string, attempts: number, problem: string | null = null): TimerRecord => ({
    ...{ id, attempts, problem, instanceKey: "", generation: 1, kind: "after", name: "", dueAt: 0, tryAt: 0 },
    ...{ payload: { codec: "json", data: "1" }, state: "pending" },
  });

  test("is given up after ten attempts, and none of its neighbours is", () => {
    const world = new VirtualWorld();
    const attempts = new Map(Array.from({ length: 250 }, (_, i) => [`t${i}`, 0]));
    let gone = new Set<string>();
    for (let looks = 0; looks < 1_000 && !gone.has("t77"); looks++) {
      // Claimed together; then this process ends with the killer, or with nothing left.
      const taken = [...attempts.keys()].filter((id) => !gone.has(id));
      for (const id of taken) attempts.set(id, attempts.get(id)! + 1);
      const dead = taken.filter((id) => attempts.get(id)! > 10);
      expect(dead.filter((id) => id !== "t77")).toEqual([]);
      gone = new Set([...gone, ...dead]);
      const left = taken.filter((id) => !gone.has(id)).map((id) => timer(id, attempts.get(id)!));
      if (!left.every(isSuspect)) continue; // all at once: the killer takes all with it
      const { now, together, back } = drawSuspects(left, world);
      for (const { id } of back) attempts.set(id, attempts.get(id)! - 1);
      const killed = now.findIndex(({ id }) => id === "t77");
      const survivors = killed < 0 ? now : together ? [] : now.slice(0, killed);
      gone = new Set([...gone, ...survivors.map(({ id }) => id)]);
    }
    expect(gone.has("t77")).toBe(true);
  });

  test("is not searched among timers that fail with an error", () => {
    expect([timer("a", 1), timer("b", 2), timer("c", 9, "it threw")].map(isSuspect)).toEqual([false, true, false]);
  });

  test("leaves the other timers to the next node, which fires few at a time", async () => {
    const { orders } = orderMachine("o", MINUTE);
    const { world, node, store, done } = await open([orders]);
    const count = 120;
    await done(
      Promise.all(Array.from({ length: count }, (_, i) => node.start(orders, { email: "" }, { id: `o-${i}` }))),
    );
    let fired = 0;
    node.on("timer.fired", () => fired++);
    world.block(MINUTE);
    const group = { env: "default", stack: null, queue: "o", program: "o", version: null };
    const claim = { groups: [group], limit: 500, leaseMs: 5_000, mostAttempts: 10 };
    expect((await store.machines.claimTimers(claim)).timers).toHaveLength(count);
    await world.advance(5_000 + 11_000);
    expect(fired).toBe(count);
  });
});

test("a timer that meets conflicts at its instance again and again is not given up", async () => {
  const { orders } = orderMachine("o", MINUTE);
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  let contended = true;
  const append: Store["machines"]["append"] = async (appends) =>
    contended && appends[0]!.fired.length > 0
      ? appends.map(({ expectedSeq }) => ({ outcome: "moved" as const, seq: expectedSeq + 1 }))
      : store.machines.append(appends);
  const { node, done } = await open([orders], world, { ...store, machines: { ...store.machines, append } });
  const order = await done(node.start(orders, { email: "" }));
  await world.advance(MINUTE + 20_000);
  expect(await done(order.timers())).toMatchObject([{ state: "pending", attempts: expect.any(Number) }]);
  contended = false;
  await world.advance(2_000);
  expect(await done(order.state())).toMatchObject({ value: "expired" });
});

test("runUntilIdle includes timers that the node had claimed before the call, and their effects", async () => {
  const { orders, sent } = orderMachine("o", MINUTE);
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const append: Store["machines"]["append"] = async (appends) => {
    await new Promise<void>((resolve) => world.after(300, resolve));
    return store.machines.append(appends);
  };
  const { node, done } = await open([orders], world, { ...store, machines: { ...store.machines, append } });
  const order = await done(node.start(orders, { email: "" }));
  await done(order.send({ type: "PAY", cents: 1 }, { delay: 0 }));
  // Its own loop has claimed them by now.
  await world.advance(100);
  expect(await done(node.runUntilIdle({ timeout: "1m" }))).toMatchObject({ idle: true });
  expect(await done(order.state())).toMatchObject({ value: "mailed" });
  expect(sent).toHaveLength(1);
});

test("the error of a failing step is stored, whatever it is", async () => {
  const definition = setup({
    types: {} as { events: { type: "NOTHING" } },
    guards: {
      odd: () => {
        throw new TypeError(`nul \0 and half a pair \ud800 ${"x".repeat(10_000)}`);
      },
    },
  }).createMachine({ initial: "a", states: { a: { after: { 1000: { guard: "odd", target: "b" } } }, b: {} } });
  const program = machine("odd", definition);
  const { world, node, done } = await open([program]);
  const one = await done(node.start(program));
  await world.advance(1_200);
  const [timer] = await done(one.timers());
  expect(timer).toMatchObject({ attempts: 1, problem: expect.stringMatching(/^TransitionFailed: [\s\S]*half a pair/) });
});

describe("deadlines", () => {
  test("of timers that were set together and are due together: they fire in the order in which they were set", async () => {
    const region = { initial: "a", states: { a: { after: { 1000: "b" } }, b: {} } } as const;
    const definition = setup({}).createMachine({
      type: "parallel",
      states: { one: region, two: region, three: region },
    });
    const program = machine("together", definition);
    const { world, node, done } = await open([program]);
    const one = await done(node.start(program));
    await world.advance(1_100);
    expect((await done(one.history())).map(({ type }) => type)).toEqual([
      ...["start", "after 1s in one.a", "after 1s in two.a", "after 1s in three.a"],
    ]);
  });

  test("count from when their state was entered: one that fired late does not shorten the next stay", async () => {
    const definition = setup({}).createMachine({
      initial: "a",
      states: { a: { after: { 60000: "b" } }, b: { after: { 60000: "c" } }, c: {} },
    });
    const program = machine("chain", definition);
    const first = await open([program]);
    const { world, store } = first;
    await first.done(first.node.start(program, undefined, { id: "i" }));
    await first.done(first.node.stop({ grace: 0 }));
    await world.advance(10 * MINUTE);
    const { node, done } = await open([program], world, store);
    await world.advance(100);
    const one = node.instance(program, "i");
    expect(await done(one.state())).toMatchObject({ value: "b" });
    await world.advance(MINUTE - 1_000);
    expect(await done(one.state())).toMatchObject({ value: "b" });
    await world.advance(1_100);
    expect(await done(one.state())).toMatchObject({ value: "c" });
  });
});
