// Instances of a machine on both stores: started, sent to, timed, ended.

import { describe, expect, test } from "vitest";
import { onBothStores } from "../workflow/node-suite.js";
import { orderMachine } from "./order-machine.js";

onBothStores((bench) => {
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
  });
});
