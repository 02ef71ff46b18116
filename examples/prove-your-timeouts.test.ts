// Proves a timeout store of your own: every case gets a fresh one, and a clock that it may move.
import { memoryStore } from "holdfast/memory";
import { timeoutsConformance, VirtualWorld } from "holdfast/testing";
import { timeoutStore } from "holdfast/timeout";
import { test } from "vitest";

for (const { name, run } of timeoutsConformance) {
  test(name, () => {
    const world = new VirtualWorld();
    const timeouts = timeoutStore(memoryStore({ world }), { scope: "order", world }); // yours here
    return run({ timeouts, advance: (ms) => world.advance(ms) });
  });
}
