// What XState machines may use, on both stores: parallel and history states, delays, raises, sends to others, effects, triggers.

import { describe, expect, test } from "vitest";
import { assign, cancel, raise, sendTo, setup } from "xstate";
import { createClient } from "../../src/client/create-client.js";
import { instance, machine } from "../../src/machine/index.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";
import { orderDefinition, orderMachine } from "./order-machine.js";

onBothStores(
  (bench) => {
    describe("what a machine can do", () => {
      test("parallel states have timers of their own, history is restored, delays are computed from the context", async () => {
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
        // Read from the store again: history is kept there.
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
            LATER: {
              actions: [raise({ type: "RING" }, { delay: 50, id: "r" }), raise({ type: "RING" }, { delay: 60 })],
            },
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
        // The same id again is another event, and each is applied once.
        await s.send({ type: "LATER", n: 10 });
        await c.waitFor(({ context }) => context.n === 21, { timeout: "10s" });
        expect((await c.history()).map(({ by }) => by)).toEqual([null, ...Array(3).fill(`sender/${s.id}`)]);
      });

      test("an effect that fails is retried with the same key, then left to the dead letters; the instance continues", async () => {
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

      test("runUntilIdle handles sent events and due timers, and their effects", async () => {
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
  },
  { perTest: true },
);
