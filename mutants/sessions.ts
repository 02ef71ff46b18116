// Planted bugs in what a transaction step may do to its session, in how refusals of the server are handled, and in failovers by name.

import type { Mutant } from "./mutant.js";

const TRANSACT = "src/store/postgres/run/transact.ts";
const CONNECTIONS = "src/store/postgres/connection/connections.ts";
const SESSION_TEST = "test/workflow/transaction-session.test.ts";
const REFUSALS = "test/scenarios/refusals.test.ts";
const MOVED = "test/scenarios/moved-name.test.ts";

export const sessions: readonly Mutant[] = [
  {
    name: "a session keeps the settings of a transaction step",
    breaks: "isolation of steps",
    edits: [{ file: CONNECTIONS, find: '      await client.query("discard all");\n', put: "" }],
    killedBy: [{ file: SESSION_TEST, test: "direct connections" }],
  },
  {
    name: "the step's own role writes its result",
    breaks: "isolation of steps",
    edits: [
      {
        file: "src/store/postgres/connection/session-reset.ts",
        find: 'const SETTINGS = "set session authorization default; reset role; reset all";',
        put: 'const SETTINGS = "reset all";',
      },
    ],
    killedBy: [{ file: SESSION_TEST, test: "local role of one transaction" }],
  },
  {
    name: "behind a pooler the session is left as it is",
    breaks: "isolation of steps",
    edits: [{ file: CONNECTIONS, find: "return GIVE_BACK_POOLED;", put: 'return "select 1";' }],
    killedBy: [{ file: SESSION_TEST, test: "PgBouncer" }],
  },
  {
    name: "a connection is used again after its step failed",
    breaks: "isolation of steps",
    edits: [
      {
        file: TRANSACT,
        find: "        if (error instanceof WorkFailed) throw error;\n",
        put: '        if (error instanceof WorkFailed) throw Object.assign(error, { code: "P0001" });\n',
      },
    ],
    killedBy: [{ file: SESSION_TEST, test: "what a failed transaction left" }],
  },
  {
    name: "a step above read committed that meets a renewal is repeated for ever",
    breaks: "every step ends",
    edits: [{ file: TRANSACT, find: 'level !== "read committed" && ', put: 'level === "" && ' }],
    killedBy: [{ file: "test/workflow/transaction.test.ts", test: "isolation level of its own" }],
  },
  {
    name: "several statements in one text",
    breaks: "S1",
    edits: [{ file: "src/store/postgres/connection/step-transaction.ts", find: ', queryMode: "extended"', put: "" }],
    killedBy: [{ file: SESSION_TEST, test: "a COMMIT behind a statement" }],
  },
  {
    name: "a COMMIT behind a comment is sent",
    breaks: "S1",
    edits: [
      {
        file: "src/store/check/transaction.ts",
        find: '    else if (rest.startsWith("/*")) rest = behindComment(rest);\n',
        put: "",
      },
    ],
    killedBy: [{ file: SESSION_TEST, test: "behind a comment" }],
  },
  {
    name: "statements without an await are not waited for",
    breaks: "S1",
    edits: [{ file: "src/store/postgres/connection/step-transaction.ts", find: "    await this.#turn;\n", put: "" }],
    killedBy: [{ file: SESSION_TEST, test: "not awaited" }],
  },
  {
    name: "a refused password fails the work",
    breaks: "L9",
    edits: [
      {
        file: "src/store/contract/trouble.ts",
        find: '["STORE_UNAVAILABLE", "STORE_REFUSED", "SCHEMA_MISSING"]',
        put: '["STORE_UNAVAILABLE"]',
      },
    ],
    killedBy: [{ seeds: 60 }, { file: REFUSALS, test: "with open connections" }],
  },
  {
    name: "a missing right counts as a bug",
    breaks: "L9",
    edits: [{ file: "src/store/postgres/connection/sqlstate.ts", find: '  "42501", // a missing right\n', put: "" }],
    killedBy: [{ file: REFUSALS, test: "42501" }],
  },
  {
    name: "the store's trouble inside a step counts as its failure",
    breaks: "L9",
    edits: [
      {
        file: "src/replay/step-call.ts",
        find: "!atMostOnce && isStoreTrouble(result.error))",
        put: "!atMostOnce && false)",
      },
    ],
    killedBy: [{ file: "test/workflow/store-trouble.test.ts", test: "a step with an error of the store" }],
  },
  {
    name: "a connection to a read-only server is kept",
    breaks: "L8",
    edits: [
      { file: CONNECTIONS, find: "      if (isWrongServer(error)) this.giveUpAll(client);\n", put: "" },
      {
        file: "src/store/postgres/connection/sqlstate.ts",
        find: "(08|57P|25P|25006|26000)",
        put: "(08|57P|25P|26000)",
      },
      { file: CONNECTIONS, find: 'readOnly === "on" ?', put: 'readOnly === "never" ?' },
    ],
    killedBy: [{ file: MOVED, test: "a client that starts runs" }],
  },
  {
    name: "a client that only reads stays connected to a standby",
    breaks: "L8",
    edits: [{ file: CONNECTIONS, find: 'readOnly === "on" ?', put: 'readOnly === "never" ?' }],
    killedBy: [{ file: MOVED, test: "only reads" }],
  },
];
