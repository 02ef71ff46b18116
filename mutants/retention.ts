// Planted bugs in retention, and in what is refused or reported at once.

import type { Mutant } from "./mutant.js";

const MEMORY = "test/conformance/memory.test.ts";
const POSTGRES = "test/conformance/postgres.test.ts";
const SAY = "test/client/refuse-and-say.test.ts";

export const retention: readonly Mutant[] = [
  {
    name: "clean-up removes a child whose parent still waits",
    breaks: "S20",
    edits: [
      {
        file: "src/store/postgres/clean-retained.ts",
        find: "and not exists (select from ${s}.runs o where o.id = r.parent_id offset 0)",
        put: "",
      },
    ],
    killedBy: [{ file: POSTGRES, test: "a child after its parent" }],
  },
  {
    name: "clean-up removes ended runs of another env",
    breaks: "isolation",
    edits: [{ file: "src/store/postgres/clean-retained.ts", find: "where g.env = $1\n  limit $3", put: "limit $3" }],
    killedBy: [{ file: POSTGRES, test: "a child after its parent" }],
  },
  {
    name: "a run that is inserted again gets back its first entry, which clean-up removed",
    breaks: "inserting the same id twice inserts once",
    edits: [
      {
        file: "src/store/postgres/run/insert-runs.ts",
        find: 'where ${oneOf("id", "select id from r")} ${onConflict}',
        put: "${onConflict}",
      },
    ],
    killedBy: [{ file: POSTGRES, test: "inserted again after its first entry" }],
  },
  {
    name: "the memory store removes a child whose parent still waits",
    breaks: "S20",
    edits: [
      {
        file: "src/store/memory/clean-retained.ts",
        find: "parentId === null || !tables.runs.has(parentId)",
        put: "parentId === null || parentId !== ''",
      },
    ],
    killedBy: [{ file: MEMORY, test: "a child after its parent" }],
  },
  {
    name: "prune deletes the result of a child whose failed parent can be retried",
    breaks: "S20",
    edits: [
      {
        file: "src/store/postgres/run/retain-runs.ts",
        find: "p.state not in ('completed', 'cancelled', 'skipped')",
        put: "p.state not in ('completed', 'cancelled', 'skipped', 'failed')",
      },
    ],
    killedBy: [{ file: POSTGRES, test: "while its failed parent can be retried" }],
  },
  {
    name: "prune deletes a key that is reserved for longer",
    breaks: "a start happens once",
    edits: [
      {
        file: "src/store/postgres/run/remove-runs-sql.ts",
        find: " and not (k.lifetime = 'timed' and k.expires_at > ${now})",
        put: "",
      },
    ],
    killedBy: [{ file: POSTGRES, test: "outlives its run, and is free afterwards" }],
  },
  {
    name: "young rows of the audit can be deleted",
    breaks: "the audit is complete",
    edits: [
      {
        file: "src/store/postgres/migrations/0001-audit.ts",
        find: "if tg_op = 'DELETE' and old.at <=",
        put: "if tg_op = 'DELETE' or old.at <=",
      },
    ],
    killedBy: [{ file: "test/store/cleanup.test.ts", test: "old rows of the audit are removed" }],
  },
  {
    name: "two programs may have one name",
    breaks: "refused at start",
    edits: [{ file: "src/node/check-programs.ts", find: "if (named.has(key)) {", put: "if (named.has(name)) {" }],
    killedBy: [{ file: SAY, test: "two programs of one name" }],
  },
  {
    name: "a serialised error has the password of the address",
    breaks: "no secrets",
    edits: [
      { file: "src/kernel/error.ts", find: "message: withoutSecrets(cause.message)", put: "message: cause.message" },
    ],
    killedBy: [{ file: SAY, test: "errors serialise" }],
  },
];
