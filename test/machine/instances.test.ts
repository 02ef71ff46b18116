// Instances of a machine on both stores: started, sent to, timed, ended; seen from several nodes and from clients.

import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { createClient } from "../../src/client/create-client.js";
import { machine } from "../../src/machine/index.js";
import { onBothStores } from "../workflow/node-suite.js";
import { orderDefinition, orderMachine } from "./order-machine.js";

onBothStores(
  (bench) => {
    describe("an instance", () => {
      test("starts, applies events, runs its effects and continues with their results", async () => {
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

      test("expires when its timer is due", async () => {
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

      test("an event that no transition handles is reported as such, and leaves nothing behind", async () => {
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

      test("a guard that throws is reported to the sender, and nothing is written", async () => {
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

      test("a send at a wrong expected sequence is rejected, with the actual one", async () => {
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

      test("a node with an old cached state continues from the current one", async () => {
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

      test("a stopped instance is stopped on every node: no timer is left, no event is accepted", async () => {
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

      test("a list shows the state of each instance, and many events are sent in one call", async () => {
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
        // Sent again after it was applied: it was accepted before.
        await named.send({ type: "NOTE" }, { key: "once" });
        await expect.poll(waiting).toEqual([]);
        expect(await named.state()).toMatchObject({ value: "pending", seq: 3, context: { notes: 2 } });
        await expect(client.instance("clients", "nobody").send({ type: "NOTE" })).rejects.toMatchObject({
          code: "INSTANCE_UNKNOWN",
        });
      });

      test("an instance and an event for it, created in a caller's transaction, exist when it commits", async () => {
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
  },
  { perTest: true },
);
