// Instances of a machine on both stores: started, sent to, timed, ended; seen from several nodes and from clients.

import { afterEach, describe, expect, test } from "vitest";
import { assign, cancel, raise, sendTo, setup } from "xstate";
import { createClient } from "../../src/client/create-client.js";
import type { Node } from "../../src/client/create-node.js";
import { instance, machine } from "../../src/machine/index.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { type Bench, onBothStores } from "../workflow/node-suite.js";
import { orderDefinition, orderMachine } from "./order-machine.js";

onBothStores((shared) => {
  const opened: Node[] = [];
  const bench: Bench = {
    get store() {
      return shared.store;
    },
    begin: () => shared.begin(),
    async open(options) {
      const node = await shared.open(options);
      opened.push(node);
      return node;
    },
  };
  // A node that has nothing to do looks 50 times a second: those of 20 tests kept the others waiting.
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((node) => node.stop({ grace: 0 })));
  });

  describe("an instance", () => {
    test("starts, takes events, does its effects and goes on with their answers", async () => {
      const { orders, sent } = orderMachine("walk");
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" }, { id: "o-1" });
      expect(await order.state()).toMatchObject({ value: "pending", status: "active", seq: 1, context: { paid: 0 } });
      expect(await order.timers()).toMatchObject([
        { name: "after expiry in pending", generation: 1, state: "pending" },
      ]);
      expect(await order.send({ type: "PAY", cents: 300 })).toMatchObject({
        outcome: "applied",
        seq: 2,
        value: "paid",
      });
      expect(await order.timers()).toEqual([]);
      await order.waitFor(({ value }) => value === "mailed", { timeout: "10s" });
      expect(sent).toMatchObject([{ id: "o-1", cents: 300, key: "default/walk/o-1@2.0" }]);
      expect(await order.send({ type: "SHIP" })).toMatchObject({ outcome: "applied", value: "done", status: "done" });
      expect(await order.state()).toMatchObject({ status: "done", output: { paid: 300 } });
      await expect(order.send({ type: "NOTE" })).rejects.toMatchObject({ code: "INSTANCE_ENDED", status: "done" });
      const types = (await order.history()).map(({ type }) => type);
      expect(types).toEqual(["start", "PAY", "MAILED", "SHIP"]);
    });

    test("whose time is over expires", async () => {
      const { orders } = orderMachine("late", 80);
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" });
      const state = await order.waitFor(({ value }) => value === "expired", { timeout: "10s" });
      expect(state.seq).toBe(2);
      expect(await order.timers()).toEqual([]);
      expect((await order.history()).at(-1)).toMatchObject({ kind: "timer", type: "after expiry in pending" });
    });

    test("the same id and input is the same instance, other input is a conflict", async () => {
      const { orders } = orderMachine("twice");
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" }, { id: "o" });
      await order.send({ type: "NOTE" });
      const again = await node.start(orders, { email: "a@b" }, { id: "o" });
      expect(await again.state()).toMatchObject({ seq: 2 });
      const other = node.start(orders, { email: "b@c" }, { id: "o" });
      await expect(other).rejects.toMatchObject({ code: "INSTANCE_CONFLICT" });
      await expect(node.instance(orders, "nobody").send({ type: "NOTE" })).rejects.toMatchObject({
        code: "INSTANCE_UNKNOWN",
      });
    });

    test("an event that no transition handles is told so, and leaves nothing behind", async () => {
      const { orders } = orderMachine("unhandled");
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" });
      expect(await order.send({ type: "SHIP" })).toEqual({
        ...{ outcome: "unhandled", seq: 1, value: "pending", status: "active" },
      });
      // The guard does not hold.
      expect(await order.send({ type: "PAY", cents: 0 })).toMatchObject({ outcome: "unhandled", seq: 1 });
      expect(await order.history()).toHaveLength(1);
    });

    test("a guard that throws is told to its sender, and nothing is written", async () => {
      const broken = setup({
        types: {} as { events: { type: "GO" } | { type: "STAY" } },
        guards: {
          bad: () => {
            throw new Error("no guard today");
          },
        },
      }).createMachine({
        initial: "a",
        states: { a: { on: { GO: { guard: "bad", target: "b" }, STAY: "a" } }, b: {} },
      });
      const program = machine("bad-guard", broken);
      const node = await bench.open({ programs: [program] });
      const one = await node.start(program);
      const failed = one.send({ type: "GO" });
      await expect(failed).rejects.toMatchObject({ code: "TRANSITION_FAILED", cause: expect.any(Error) });
      expect(await one.state()).toMatchObject({ value: "a", seq: 1 });
    });

    test("sends at an expected sequence are refused elsewhere, with the true one", async () => {
      const { orders } = orderMachine("expected");
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" });
      expect(await order.send({ type: "NOTE" }, { expectedSeq: 1 })).toMatchObject({ seq: 2 });
      const late = order.send({ type: "NOTE" }, { expectedSeq: 1 });
      await expect(late).rejects.toMatchObject({ code: "SEQUENCE_CONFLICT", expected: 1, actual: 2 });
    });

    test("an event with a key is accepted once", async () => {
      const { orders } = orderMachine("keyed");
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" });
      expect(await order.send({ type: "NOTE" }, { key: "k" })).toMatchObject({ outcome: "applied", seq: 2 });
      expect(await order.send({ type: "NOTE" }, { key: "k" })).toMatchObject({ outcome: "duplicate", seq: 2 });
      const both = await Promise.all([
        order.send({ type: "NOTE" }, { key: "k" }),
        order.send({ type: "NOTE" }, { key: "l", by: "ann" }),
      ]);
      expect(both.map(({ outcome }) => outcome)).toEqual(["duplicate", "applied"]);
      expect((await order.history()).map(({ by }) => by)).toEqual([null, null, "ann"]);
    });

    test("a hundred sends at once from one process are applied in order, in few appends", async () => {
      const { orders } = orderMachine("hot");
      const node = await bench.open({ programs: [orders] });
      const moved: number[] = [];
      node.on("instance.moved", ({ machine: name, events }) => name === "hot" && moved.push(events.length));
      const order = await node.start(orders, { email: "a@b" });
      const answers = await Promise.all(Array.from({ length: 100 }, () => order.send({ type: "NOTE" })));
      expect(answers.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 2));
      expect(await order.state()).toMatchObject({ seq: 101, context: { notes: 100 } });
      expect(moved.length).toBeLessThan(10);
    });

    test("a node that has seen it long ago goes on from where others have brought it", async () => {
      const { orders } = orderMachine("shared");
      const [a, b] = [await bench.open({ programs: [orders] }), await bench.open({ programs: [orders] })];
      const here = await a.start(orders, { email: "a@b" }, { id: "o" });
      const there = b.instance(orders, "o");
      await there.send({ type: "NOTE" });
      await here.send({ type: "LEAVE" });
      // As b remembers it, BACK is not handled.
      expect(await there.send({ type: "BACK" })).toMatchObject({ outcome: "applied", value: "pending", seq: 4 });
      const mixed = await Promise.all(
        Array.from({ length: 40 }, (_, i) => (i % 2 ? here : there).send({ type: "NOTE" })),
      );
      expect(new Set(mixed.map(({ seq }) => seq)).size).toBe(40);
      expect(await here.state()).toMatchObject({ context: { notes: 41 }, seq: 44 });
    });

    test("stopped, it is stopped for everybody: no timer is left, no event is taken", async () => {
      const { orders } = orderMachine("stopped");
      const [a, b] = [await bench.open({ programs: [orders] }), await bench.open({ programs: [orders] })];
      const order = await a.start(orders, { email: "a@b" }, { id: "o" });
      await order.stop({ reason: "not wanted", by: "ann" });
      expect(await b.instance(orders, "o").timers()).toEqual([]);
      expect(await b.instance(orders, "o").state()).toMatchObject({ status: "stopped", seq: 2 });
      const late = b.instance(orders, "o").send({ type: "NOTE" });
      await expect(late).rejects.toMatchObject({ code: "INSTANCE_ENDED", status: "stopped" });
      expect((await order.history()).at(-1)).toMatchObject({
        kind: "stop",
        by: "ann",
        event: { reason: "not wanted" },
      });
    });

    test("a list shows where each is, and many events are sent in one call", async () => {
      const { orders } = orderMachine("many");
      const node = await bench.open({ programs: [orders] });
      const ids = ["x", "y", "z"];
      for (const id of ids) await node.start(orders, { email: id }, { id });
      const sent = await node.instances.sendMany(orders, [
        ...ids.map((id) => ({ id, event: { type: "NOTE" as const } })),
        { id: "nobody", event: { type: "NOTE" } },
        { id: "x", event: { type: "PAY", cents: 1 } },
      ]);
      expect(sent.map(({ outcome }) => outcome)).toEqual(["applied", "applied", "applied", "failed", "applied"]);
      const first = await node.instances.list({ machine: orders, limit: 2 });
      const rest = await node.instances.list({ machine: orders, before: first.next! });
      const all = [...first.instances, ...rest.instances];
      expect(all.map(({ id }) => id).sort()).toEqual(ids);
      expect(all.find(({ id }) => id === "x")).toMatchObject({ value: "paid", status: "active", machine: "many" });
      expect((await node.instances.list({ machine: "many", statuses: ["done"] })).instances).toEqual([]);
    });
  });

  describe("what a machine can do", () => {
    test("parallel states have timers of their own, history comes back, delays are worked out from the context", async () => {
      const def = setup({
        types: {} as { context: { ms: number }; input: { ms: number }; events: { type: "OUT" } | { type: "IN" } },
        delays: { mine: ({ context }) => context.ms },
      }).createMachine({
        context: ({ input }) => input,
        initial: "work",
        states: {
          work: {
            type: "parallel",
            on: { OUT: "away" },
            states: {
              left: { initial: "a", states: { a: { after: { mine: "b" } }, b: {} } },
              right: { initial: "a", states: { a: { after: { 120: "b" } }, b: { after: { 3600000: "a" } } } },
              deep: { type: "history", history: "deep" },
            },
          },
          away: { on: { IN: "work.deep" } },
        },
      });
      const program = machine("parallel", def);
      const node = await bench.open({ programs: [program] });
      const one = await node.start(program, { ms: 60 });
      expect((await one.timers()).map(({ name }) => name)).toEqual([
        "after mine in work.left.a",
        "after 120ms in work.right.a",
      ]);
      const work = { left: "b", right: "b" };
      await one.waitFor(({ value }) => JSON.stringify(value) === JSON.stringify({ work }), { timeout: "10s" });
      expect(await one.timers()).toMatchObject([{ name: "after 1h in work.right.b" }]);
      await one.send({ type: "OUT" });
      expect(await one.timers()).toEqual([]);
      // Read anew from the store: history is kept there.
      const other = await bench.open({ programs: [program] });
      expect(await other.instance(program, one.id).send({ type: "IN" })).toMatchObject({ value: { work } });
    });

    test("delayed raise and cancel, always, and a send to itself", async () => {
      const def = setup({
        types: {} as {
          context: { n: number };
          events: { type: "LATER" } | { type: "NEVER" } | { type: "RING" } | { type: "ECHO" } | { type: "TALK" };
        },
      }).createMachine({
        context: { n: 0 },
        initial: "a",
        on: {
          LATER: { actions: [raise({ type: "RING" }, { delay: 50, id: "r" }), raise({ type: "RING" }, { delay: 60 })] },
          NEVER: { actions: cancel("r") },
          RING: { actions: assign({ n: ({ context }) => context.n + 1 }) },
          TALK: { actions: sendTo(({ self }) => self, { type: "ECHO" }) },
          ECHO: { actions: assign({ n: ({ context }) => context.n + 100 }) },
        },
        states: { a: { always: { guard: ({ context }) => context.n >= 101, target: "b" } }, b: {} },
      });
      const program = machine("raises", def);
      const node = await bench.open({ programs: [program] });
      const one = await node.start(program);
      await Promise.all([one.send({ type: "LATER" }), one.send({ type: "NEVER" })]);
      expect(await one.timers()).toMatchObject([{ kind: "raise", name: "raise RING" }]);
      await one.waitFor(({ context }) => context.n === 1, { timeout: "10s" });
      expect(await one.send({ type: "TALK" })).toMatchObject({ outcome: "applied", value: "b" });
      expect((await one.history()).slice(-2)).toMatchObject([{ type: "TALK" }, { type: "ECHO", by: "self" }]);
    });

    test("sends to another instance by its id, now, later, and not at all when it was cancelled", async () => {
      const counter = machine(
        "counter",
        setup({ types: {} as { context: { n: number }; events: { type: "ADD"; n: number } } }).createMachine({
          context: { n: 0 },
          on: { ADD: { actions: assign({ n: ({ context, event }) => context.n + event.n }) } },
        }),
      );
      const sender = machine(
        "sender",
        setup({
          types: {} as { events: { type: "NOW" } | { type: "LATER"; n: number } | { type: "STOP" } },
        }).createMachine({
          on: {
            NOW: { actions: sendTo(() => instance(counter, "c"), { type: "ADD", n: 1 }) },
            LATER: {
              actions: sendTo(
                () => instance(counter, "c"),
                ({ event }) => ({ type: "ADD", n: (event as { n: number }).n }),
                { delay: 60, id: "later" },
              ),
            },
            STOP: { actions: cancel("later") },
          },
        }),
      );
      const node = await bench.open({ programs: [counter, sender] });
      const c = await node.start(counter, undefined, { id: "c" });
      const s = await node.start(sender);
      await s.send({ type: "NOW" });
      await c.waitFor(({ context }) => context.n === 1, { timeout: "10s" });
      await s.send({ type: "LATER", n: 1000 });
      await s.send({ type: "STOP" });
      await s.send({ type: "LATER", n: 10 });
      await c.waitFor(({ context }) => context.n === 11, { timeout: "10s" });
      // The same id again is another event, and each is taken once.
      await s.send({ type: "LATER", n: 10 });
      await c.waitFor(({ context }) => context.n === 21, { timeout: "10s" });
      expect((await c.history()).map(({ by }) => by)).toEqual([null, ...Array(3).fill(`sender/${s.id}`)]);
    });

    test("an effect that fails is retried with the same key, then left to the dead letters; the instance goes on", async () => {
      const keys: string[] = [];
      const orders = machine("failing", orderDefinition(), {
        effects: {
          sendReceipt: {
            retry: { attempts: 2, delay: "10ms" },
            run: async ({ idempotencyKey }) => {
              keys.push(idempotencyKey);
              throw new Error("no mail today");
            },
          },
        },
      });
      const node = await bench.open({ programs: [orders] });
      const order = await node.start(orders, { email: "a@b" }, { id: "o" });
      await order.send({ type: "PAY", cents: 1 });
      await expect
        .poll(() => node.dead.list({ program: "failing::effects" }).then((page) => page.letters.length))
        .toBe(1);
      expect(new Set(keys).size).toBe(1);
      expect(keys).toHaveLength(2);
      expect(await order.send({ type: "SHIP" })).toMatchObject({ status: "done" });
    });

    test("an action of the machine's own runs as an effect, with the context of its microstep", async () => {
      const seen: unknown[] = [];
      const def = setup({
        types: {} as { context: { n: number }; events: { type: "GO" } },
        actions: {
          note: ({ context, event }, params: { word: string }) => seen.push([context.n, event.type, params.word]),
        },
      }).createMachine({
        context: { n: 0 },
        on: {
          GO: {
            actions: [
              assign({ n: 1 }),
              { type: "note", params: { word: "first" } },
              assign({ n: 2 }),
              { type: "note", params: { word: "second" } },
            ],
          },
        },
      });
      const program = machine("own-actions", def);
      const node = await bench.open({ programs: [program] });
      await (await node.start(program)).send({ type: "GO" });
      await expect.poll(() => seen.length).toBe(2);
      expect(seen).toEqual(
        expect.arrayContaining([
          [1, "GO", "first"],
          [2, "GO", "second"],
        ]),
      );
    });

    test("until idle: what is told and what is due is done, and the effects of it", async () => {
      const { orders, sent } = orderMachine("idle");
      const client = createClient({ store: bench.store });
      const order = await client.start(orders, { email: "a@b" }, { id: "o" });
      await order.send({ type: "PAY", cents: 5 }, { delay: 0 });
      const node = await bench.open({ programs: [orders] });
      expect(await node.runUntilIdle({ timeout: "20s" })).toMatchObject({ idle: true });
      expect(await order.state()).toMatchObject({ value: "mailed" });
      expect(sent).toHaveLength(1);
    });

    test("a trigger starts an instance, and a workflow waits for one as for any child", async () => {
      const placed = event<{ email: string }>()("order.placed");
      const { orders } = orderMachine("child");
      const triggered = machine("triggered", orderDefinition(), {
        on: [on(placed)],
        id: ({ email }) => `for ${email}`,
      });
      const parent = workflow("parent", async (ctx) => ctx.child(orders, { email: "p@q" }));
      const node = await bench.open({ programs: [orders, triggered, parent] });
      await node.emit(placed, { email: "t@u" });
      const one = node.instance(triggered, "for t@u");
      await expect
        .poll(
          () =>
            one.state().then(
              ({ value }) => value,
              () => null,
            ),
          { timeout: 10_000 },
        )
        .toBe("pending");
      const run = await node.start(parent);
      await expect.poll(() => node.instances.list({ machine: orders }).then((page) => page.instances.length)).toBe(1);
      const [child] = (await node.instances.list({ machine: orders })).instances;
      const order = node.instance(orders, child!.id);
      await order.send({ type: "PAY", cents: 7 });
      await order.waitFor(({ value }) => value === "mailed", { timeout: "10s" });
      await order.send({ type: "SHIP" });
      expect(await run.result({ timeout: "10s" })).toEqual({ paid: 7 });
    });
  });

  describe("from elsewhere", () => {
    test("a client with the code applies events itself; by name alone they are stored for a node", async () => {
      const orders = machine("clients", orderDefinition());
      const client = createClient<readonly [typeof orders]>({ store: bench.store });
      const order = await client.start(orders, { email: "a@b" }, { id: "o" });
      expect(await order.send({ type: "NOTE" })).toMatchObject({ outcome: "applied", seq: 2 });
      const named = client.instance("clients", "o");
      expect(await named.send({ type: "NOTE" }, { key: "once" })).toEqual({ outcome: "accepted" });
      expect(await named.send({ type: "NOTE" }, { key: "once" })).toEqual({ outcome: "accepted" });
      const waiting = async () => (await named.timers()).filter(({ kind }) => kind === "sent");
      expect(await waiting()).toMatchObject([{ name: "NOTE" }]);
      await bench.open({ programs: [orders] });
      await order.waitFor(({ seq }) => seq === 3, { timeout: "10s" });
      // Sent again after it was taken: it was accepted before.
      await named.send({ type: "NOTE" }, { key: "once" });
      await expect.poll(waiting).toEqual([]);
      expect(await named.state()).toMatchObject({ value: "pending", seq: 3, context: { notes: 2 } });
      await expect(client.instance("clients", "nobody").send({ type: "NOTE" })).rejects.toMatchObject({
        code: "INSTANCE_UNKNOWN",
      });
    });

    test("in a caller's transaction, an instance and an event for it are there when it commits", async () => {
      const { orders } = orderMachine("tx");
      const node = await bench.open({ programs: [orders] });
      const begun = await bench.begin();
      const order = await node.start(orders, { email: "a@b" }, { id: "o", tx: begun.tx });
      expect(await order.send({ type: "NOTE" }, { tx: begun.tx })).toEqual({ outcome: "accepted" });
      await expect(order.state()).rejects.toMatchObject({ code: "INSTANCE_UNKNOWN" });
      await begun.commit();
      await order.waitFor(({ context }) => context.notes === 1, { timeout: "10s" });
      const undone = await bench.begin();
      await order.send({ type: "NOTE" }, { tx: undone.tx });
      await undone.rollback();
      expect(await order.timers()).toMatchObject([{ kind: "after" }]);
    });
  });
});
