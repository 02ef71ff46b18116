// Planted bugs in the service loop and in what wakes the callers that wait.

import type { Killer, Mutant } from "./mutant.js";

const LOOP = "src/kernel/loop.ts";
const TEST: readonly Killer[] = [{ file: "test/kernel/loop.test.ts" }];

export const loop: readonly Mutant[] = [
  {
    name: "a wake that comes when the pause is overdue is forgotten",
    breaks: "L1",
    edits: [{ file: LOOP, find: " || this.#wakeAt <= begunAt", put: "" }],
    killedBy: TEST,
  },
  {
    name: "a wake during a round is forgotten",
    breaks: "L1",
    edits: [
      {
        file: LOOP,
        find: "        this.#wakeAt = Number.POSITIVE_INFINITY;\n        this.#pause = this.#pauseOf",
        put: "        this.#pause = this.#pauseOf",
      },
      {
        file: LOOP,
        find: "        failures = 0;\n",
        put: "        this.#wakeAt = Number.POSITIVE_INFINITY;\n        failures = 0;\n",
      },
    ],
    killedBy: TEST,
  },
  {
    name: "the last wake counts, not the earliest",
    breaks: "L1",
    edits: [{ file: LOOP, find: "    if (at >= this.#wakeAt) return;\n", put: "" }],
    killedBy: TEST,
  },
  {
    name: "an error ends the loop",
    breaks: "L1",
    edits: [
      {
        file: LOOP,
        find: "        await world.turn();\n",
        put: "        if (failures > 1) return;\n        await world.turn();\n",
      },
    ],
    killedBy: TEST,
  },
  {
    name: "a result in the same process waits for a poll",
    breaks: "a local result arrives with its commit",
    edits: [
      {
        file: "src/node/create-node.ts",
        find: "isReleased ? watcher.wake(runId) : watcher.moved(runId)",
        put: "isReleased ? undefined : undefined",
      },
    ],
    killedBy: [{ file: "test/client/result.test.ts" }],
  },
];
