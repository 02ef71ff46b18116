// Planted bugs around what the runtime role may do, and what the documents say about it.

import type { Mutant } from "./mutant.js";

export const rights: readonly Mutant[] = [
  {
    name: "the documented rights leave out the sequences",
    breaks: "least privileges",
    edits: [
      { file: "SECURITY.md", find: "grant select, update on all sequences in schema holdfast to app;\n", put: "" },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
];
