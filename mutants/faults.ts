// Planted bugs that the fault matrix found, or that only its tests would notice.

import type { Mutant } from "./mutant.js";

export const faults: readonly Mutant[] = [
  {
    name: "a start in a caller's transaction notifies into a full queue",
    breaks: "S1, F36",
    edits: [
      {
        file: "src/store/postgres/connection/wake-sender.ts",
        find: " where pg_notification_queue_usage() < 0.9",
        put: "",
      },
    ],
    killedBy: [{ file: "test/faults/server.test.ts", test: "queue of notifications is full" }],
  },
  {
    name: "episodes that fail together are tried again together",
    breaks: "F66",
    edits: [
      {
        file: "src/actor/episode-task.ts",
        find: "() => spread(`${ctx.idempotencyKey}:${tries}`)",
        put: "() => 0 * spread(`${ctx.idempotencyKey}`)",
      },
    ],
    killedBy: [{ file: "test/actor/episode-task.test.ts", test: "(F66)" }],
  },
  {
    name: "a statement reads the clock of its transaction",
    breaks: "S5, S11, F52",
    edits: [
      {
        file: "src/store/postgres/connection/dialect.ts",
        find: 'export const NOW = "clock_timestamp()";',
        put: 'export const NOW = "now()";',
      },
    ],
    killedBy: [{ file: "test/store/clock.test.ts", test: "from the moment of the call" }],
  },
  {
    name: "a full disk counts as the failure of a step",
    breaks: "L9, F23",
    edits: [
      {
        file: "src/store/postgres/connection/sqlstate.ts",
        find: 'const TRANSIENT_CLASSES = new Set(["08", "53"]);',
        put: 'const TRANSIENT_CLASSES = new Set(["08"]);',
      },
    ],
    killedBy: [
      { file: "test/scenarios/refusals.test.ts", test: "a connection limit (53300)" },
      { file: "test/faults/disk-full.test.ts" },
    ],
  },
  {
    name: "a cancelled statement counts as the failure of a step",
    breaks: "L9, F32",
    edits: [
      {
        file: "src/store/postgres/connection/sqlstate.ts",
        find: '  "57014", // statement timeout or cancel\n',
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/cancelled-statements.test.ts", test: "may work in a moment" }],
  },
  {
    name: "too few file descriptors count as the failure of a step",
    breaks: "L9, F15",
    edits: [{ file: "src/store/postgres/connection/sqlstate.ts", find: '  "EMFILE",\n', put: "" }],
    killedBy: [{ file: "test/faults/process.test.ts", test: "(F15)" }],
  },
  {
    name: "the programs of a test node are made once",
    breaks: "a crash ends the memory of the programs",
    edits: [
      {
        file: "src/testing/node/test-node.ts",
        find: 'typeof programs === "function" ? programs : () => programs;',
        put: '((made) => () => made)(typeof programs === "function" ? programs() : programs);',
      },
    ],
    killedBy: [{ file: "test/testing/test-node.test.ts", test: "what they keep in memory" }],
  },
];
