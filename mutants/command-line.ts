// Planted bugs in the command line: bulk changes without a question, schemas left behind, abilities assumed.

import type { Mutant } from "./mutant.js";

const TERMINAL = { file: "test/cli/terminal.test.ts" };
const BENCH = { file: "test/cli/bench.test.ts" };
const PROBES = { file: "test/store/probe-session.test.ts" };
const MCP = { file: "test/cli/mcp.test.ts" };
const ALLOWED = "a model changes only what the command line and the token allow";

export const commandLine: readonly Mutant[] = [
  {
    name: "bulk commands do not wait for an answer",
    breaks: "many runs are changed only after a person agreed, or with --yes",
    edits: [
      {
        file: "src/cli/command-line.ts",
        find: "if ((await ask(question)) !== true)",
        put: "if ((await ask(question)) === null)",
      },
    ],
    killedBy: [TERMINAL],
  },
  {
    name: "a command without a person takes silence for consent",
    breaks: "many runs are changed only after a person agreed, or with --yes",
    edits: [
      {
        file: "src/cli/command-line.ts",
        find: "if (!ask || json) throw new CommandMisused(",
        put: 'if (!ask || json) return;\n  if (question === "") throw new CommandMisused(',
      },
    ],
    killedBy: [TERMINAL],
  },
  {
    name: "a verb is repeated every second",
    breaks: "only lists are watched",
    edits: [{ file: "src/cli/options.ts", find: "if (verb !== undefined && values.watch)", put: "if (verb === null)" }],
    killedBy: [TERMINAL],
  },
  {
    name: "names that a shell would execute are suggested",
    breaks: "completion suggests only plain names",
    edits: [{ file: "src/cli/complete-words.ts", find: ".filter((name) => PLAIN.test(name))", put: "" }],
    killedBy: [{ file: "test/cli/surroundings.test.ts" }],
  },
  {
    name: "the schema of a measurement stays",
    breaks: "bench leaves nothing behind",
    edits: [{ file: "src/cli/connect.ts", find: "    await schema.drop();\n", put: "" }],
    killedBy: [BENCH],
  },
  {
    name: "schemas of killed measurements stay",
    breaks: "bench leaves nothing behind",
    edits: [
      { file: "src/store/postgres/throw-away-schema.ts", find: "rows.filter(isOld)", put: "rows.filter(() => false)" },
    ],
    killedBy: [BENCH],
  },
  {
    name: "schemas of other measurements are dropped",
    breaks: "bench drops only what it made or what was left",
    edits: [
      {
        file: "src/store/postgres/throw-away-schema.ts",
        find: "madeAt !== undefined && world.wallNow()",
        put: "madeAt !== undefined || world.wallNow()",
      },
    ],
    killedBy: [BENCH],
  },
  {
    name: "a lock counts although no other session sees it",
    breaks: "the doctor tries what a server can do",
    edits: [
      {
        file: "src/store/postgres/probe-session.ts",
        find: "rows[0].held > 0 && released[0].done",
        put: "released[0].done",
      },
    ],
    killedBy: [PROBES],
  },
  {
    name: "a notification counts as delivered when it was sent",
    breaks: "the doctor tries what a server can do",
    edits: [{ file: "src/store/postgres/probe-session.ts", find: "    return isHeard;", put: "    return true;" }],
    killedBy: [PROBES],
  },
  {
    name: "a model is shown every tool, and the token decides alone",
    breaks: ALLOWED,
    edits: [
      {
        file: "src/cli/mcp/serve.ts",
        find: "return needs.some((one) => may.includes(one));",
        put: "return needs.length > 0 || may.length > 0;",
      },
    ],
    killedBy: [MCP],
  },
  {
    name: "at a dashboard the token may do what was not allowed here",
    breaks: ALLOWED,
    edits: [
      {
        file: "src/cli/mcp/place.ts",
        find: "may: may.filter((one) => session.may.includes(one)),",
        put: "may: session.may,",
      },
    ],
    killedBy: [MCP],
  },
  {
    name: "a plan with hidden values can be decided",
    breaks: "a decision of a model is bound to what it was shown",
    edits: [{ file: "src/cli/mcp/read-tools.ts", find: "if (text.includes(HIDDEN))", put: "if (text === HIDDEN)" }],
    killedBy: [MCP],
  },
  {
    name: "a model decides without having seen the plan",
    breaks: "a decision of a model is bound to what it was shown",
    edits: [
      { file: "src/cli/mcp/change-tools.ts", find: "choice, shown: hash, ...", put: "choice, ..." },
      {
        file: "src/cli/mcp/change-tools.ts",
        find: "choice, hash, data, ...asked",
        put: "choice, hash: _, data, ...asked",
      },
    ],
    killedBy: [MCP],
  },
  {
    name: "a plan that was cut can be decided",
    breaks: "a decision of a model is bound to what it was shown",
    edits: [
      {
        file: "src/cli/mcp/read-tools.ts",
        find: "return { ...asked, cut: cutText(text, most)",
        put: "return { ...asked, hash, cut: cutText(text, most)",
      },
    ],
    killedBy: [MCP],
  },
  {
    name: "the audit does not name the model's client",
    breaks: "the audit names the MCP client",
    edits: [{ file: "src/cli/mcp/place.ts", find: "id: `${user}/${client()}`", put: "id: user" }],
    killedBy: [MCP],
  },
  {
    name: "an answer is as long as it is",
    breaks: "an answer fits a model's context",
    edits: [
      {
        file: "src/cli/mcp/compact.ts",
        find: "if (text.length <= MOST_CHARACTERS) return text;",
        put: "if (text) return text;",
      },
    ],
    killedBy: [MCP],
  },
];
