// Planted bugs around what the runtime role may do, and what the documents say about it.

import type { Mutant } from "./mutant.js";

export const rights: readonly Mutant[] = [
  {
    name: "the documented rights leave out the sequences",
    breaks: "least privileges",
    edits: [{ file: "SECURITY.md", find: "grant usage on all sequences in schema holdfast to app;\n", put: "" }],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "presence needs more than the documented rights",
    breaks: "least privileges",
    edits: [
      {
        file: "src/store/postgres/attend.ts",
        find: "nextval('${schema}.presence')::int",
        put: "setval('${schema}.presence', 1 + nextval('${schema}.presence'))::int",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
];
