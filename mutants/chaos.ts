// Planted bugs that only show between processes. `npm run chaos -- --mutant NAME` runs any mutant's copy under chaos.

import type { Mutant } from "./mutant.js";

export const chaos: readonly Mutant[] = [
  {
    name: "unfenced",
    breaks: "S4, S6, S8",
    edits: [
      {
        file: "src/store/postgres/claim/commit.ts",
        find: "where r.id = f.run_id and r.epoch = f.epoch and r.token = f.token and r.seq = f.seq\n",
        put: "where r.id = f.run_id\n",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a reclaim is repeated through an outage",
    breaks: "S5",
    edits: [{ file: "src/store/postgres/claim/reclaim.ts", find: ", { once: true }", put: "" }],
    killedBy: [{ file: "test/engine/ownership.test.ts", test: "never repeated" }],
  },
  {
    name: "nodes wait for each other's rows",
    breaks: "lock rules",
    edits: [
      {
        file: "src/store/postgres/node/housekeep.ts",
        find: " and stopped_at is null for no key update skip locked",
        put: " and stopped_at is null",
      },
      {
        file: "src/store/postgres/node/housekeep.ts",
        find: "  for no key update skip locked\n), absent",
        put: "), absent",
      },
    ],
    killedBy: [{ file: "test/store/races/races-nodes.test.ts" }],
  },
];
