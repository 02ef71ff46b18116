// Planted bugs at the border to other libraries: ORMs whose transactions leak, parsers and rights of the application's.

import type { Mutant } from "./mutant.js";

const STEP_POOL = "src/orm/step-pool.ts";
const ORMS = "test/orm/orms.test.ts";
const EXISTING = "test/store/existing-app.test.ts";

export const ecosystem: readonly Mutant[] = [
  {
    name: "an ORM's transaction in a step is not a savepoint",
    breaks: "S6",
    edits: [
      { file: STEP_POOL, find: "if (BEGINS.test(text)) return", put: "if (BEGINS.test(text) && text === '') return" },
    ],
    killedBy: [{ file: ORMS, test: "writes in the transaction of a step" }],
  },
  {
    name: "an ORM's rollback in a step undoes nothing",
    breaks: "S6",
    edits: [
      {
        file: STEP_POOL,
        find: "if (ROLLS_BACK.test(text)) await tx.query(`rollback to savepoint ${innermost}`);",
        put: "",
      },
    ],
    killedBy: [{ file: ORMS, test: "writes in the transaction of a step" }],
  },
  {
    name: "connections of a step share the names of savepoints",
    breaks: "S6",
    edits: [{ file: STEP_POOL, find: "    this.#shared.savepoints++;\n", put: "" }],
    killedBy: [{ file: ORMS, test: "transactions that a library opens at once" }],
  },
  {
    name: "an isolation level in a step is dropped silently",
    breaks: "S6",
    edits: [
      { file: STEP_POOL, find: "if (HAS_MODES.test(text)) {", put: "if (HAS_MODES.test(text) && text === '') {" },
    ],
    killedBy: [{ file: ORMS, test: "with an isolation level in a step" }],
  },
  {
    name: "a plugin of Kysely renames the store's columns",
    breaks: "S10",
    edits: [
      {
        file: "src/orm/kysely.ts",
        find: "trx.withoutPlugins();",
        put: 'trx as unknown as ReturnType<KyselyTransaction["withoutPlugins"]>;',
      },
    ],
    killedBy: [{ file: ORMS, test: "a key that is taken is found in its transaction" }],
  },
  {
    name: "a database passes for a transaction of Drizzle",
    breaks: "S1",
    edits: [{ file: "src/orm/drizzle.ts", find: 'typeof tx?.rollback !== "function"', put: "!tx" }],
    killedBy: [{ file: ORMS, test: "a database in the place of its transaction" }],
  },
  {
    name: "columns are read by the application's parsers",
    breaks: "S1",
    edits: [
      {
        file: "src/store/postgres/connection/column-types.ts",
        find: "return READERS.get(type) ?? asIs;",
        put: 'return pg.types.getTypeParser(type, "text");',
      },
    ],
    killedBy: [{ file: EXISTING, test: "replaces type parsers" }],
  },
  {
    name: "the owner of a schema must be able to create schemas",
    breaks: "S1",
    edits: [
      {
        file: "src/store/postgres/migrate.ts",
        find: "do $$ begin if to_regnamespace('${s}') is null then create schema ${s}; end if; end $$;",
        put: "create schema if not exists ${s};",
      },
    ],
    killedBy: [{ file: EXISTING, test: "the owner of a schema migrates it" }],
  },
];
