// The workflow of the README: its node crashes between its steps, a person approves, and it is shipped once.

import { testNode } from "holdfast/testing";
import { expect, test } from "vitest";
import { order } from "../../examples/order.js";

test("the order of the README is charged and shipped once, also after a crash", async () => {
  await using node = testNode({ programs: [order] });
  let charges = 0;
  node.stub.step("charge", () => ({ id: "o-1", cents: 300, key: `k-${++charges}` }));
  node.stub.step("pack", () => {});
  node.stub.step("ship", () => {});
  const run = await node.start(order, { id: "o-1", cents: 300 });
  await run.untilParked();
  await node.crash();
  await node.restart();
  await run.decide("ship", { choice: "approved", by: "ann" });
  expect(await run.result()).toMatchObject({ shipped: true, receipt: { key: "k-1" } });
});
