// A run that no node can work on is not claimed, and is marked as such (F77).

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

const left = workflow("left", async () => "left");
const right = workflow("right", async () => "right");
const third = workflow("third", async () => "third");
const pinned = workflow("pinned", { version: "2" }, async () => "two");
const older = workflow("pinned", { version: "1" }, async () => "one");

onBothStores((bench) => {
  test("two nodes with programs of their own each take their runs; a third program's run waits, unharmed", async () => {
    await bench.open({ programs: [left, older], timing: { housekeeping: "1s" } });
    await bench.open({ programs: [right], timing: { housekeeping: "1s" } });
    const client = createClient({ store: bench.store });
    const stray = await client.start(third);
    const wrongVersion = await client.start(pinned);
    for (const [program, answer] of [
      [left, "left"],
      [right, "right"],
    ] as const) {
      expect(await (await client.start(program)).result({ timeout: "10s" })).toBe(answer);
    }
    for (const run of [stray, wrongVersion]) {
      expect(await run.status()).toMatchObject({
        state: "waiting",
        noCapableNode: true,
        epoch: 0,
        failures: 0,
        crashes: 0,
      });
    }

    const capable = await bench.open({ programs: [third, pinned], timing: { housekeeping: "1s" } });
    expect(await stray.result({ timeout: "10s" })).toBe("third");
    expect(await wrongVersion.result({ timeout: "10s" })).toBe("two");
    expect(await stray.status()).toMatchObject({ state: "completed", noCapableNode: false });

    const later = await client.start(third, undefined, { delay: "1h" });
    expect(await later.status()).toMatchObject({ state: "waiting", noCapableNode: false });
    await capable.stop();
    expect(await later.status()).toMatchObject({ state: "waiting", noCapableNode: true });
    await later.cancel();
  });

  test("a node that is silent for three heartbeats no longer counts as serving its programs", async () => {
    const client = createClient({ store: bench.store, env: "silent" });
    const run = await client.start(third);
    const serves = await bench.store.runs.groupIds([(await run.status()).group]);
    const node = {
      incarnation: crypto.randomUUID(),
      identity: "i",
      name: "n",
      env: "silent",
      stack: null,
      build: null,
    };
    await bench.store.nodes.register({ ...node, serves, heartbeatMs: 200 });
    expect((await run.status()).noCapableNode).toBe(false);
    await expect.poll(async () => (await run.status()).noCapableNode, { timeout: 5_000 }).toBe(true);
    await bench.store.nodes.heartbeat(node.incarnation);
    expect((await run.status()).noCapableNode).toBe(false);
  });
});
