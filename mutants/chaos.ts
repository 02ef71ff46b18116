// Planted bugs for the chaos run: `npm run chaos -- --mutant NAME` must report that something is wrong.

import type { Mutant } from "./mutant.js";

export const chaos: readonly Mutant[] = [
  {
    name: "unfenced",
    breaks: "S4, S6, S8",
    edits: [
      {
        file: "src/store/postgres/commit-sql.ts",
        find: "r.id = f.run_id and r.epoch = f.epoch and r.token = f.token and r.seq = f.seq${takes}",
        put: "r.id = f.run_id${takes}",
      },
    ],
    killedBy: ["test/conformance/postgres.test.ts"],
  },
];
