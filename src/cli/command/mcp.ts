// `holdfast mcp`: the admin API as tools for a language model, over standard input and output.

import type { Permission } from "../../admin/index.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused } from "../error.js";

const ALLOWED = ["approve", "operate"] as const;

const OPTIONS = {
  allow: {
    type: "string",
    value: "LIST",
    description: `let tools change something: ${ALLOWED.join(",")}; default: they only read`,
    choices: [...ALLOWED, ALLOWED.join(",")],
    parse: (text: string): readonly Permission[] =>
      listOf(text, "--allow").map((word) => {
        const known = ALLOWED.find((one) => one === word);
        if (known) return known;
        throw new CommandMisused(`--allow takes ${ALLOWED.join(" and ")}, not ${JSON.stringify(word)}`);
      }),
  },
  groups: {
    type: "string",
    value: "LIST",
    description: "with --allow approve: only approvals addressed to these groups, or to none",
    parse: (text: string) => listOf(text, "--groups"),
  },
  "hide-payloads": { type: "boolean", description: "show no inputs, results and error messages" },
} as const satisfies Options;

export const mcp = defineCommand({
  name: "mcp",
  takes: [],
  summary: "serve runs and approvals as tools for a language model (MCP)",
  details:
    "Started by an MCP client: Claude, Cursor, VS Code, over stdio. Every change is written to the audit with the name of the client.\n" +
    "--url may also be the http(s) address of a dashboard, with a token in HOLDFAST_TOKEN.",
  options: OPTIONS,
  run: serve,
});

function listOf(text: string, option: string): readonly string[] {
  const words = text.split(",").map((word) => word.trim());
  if (words.some((word) => word === "")) throw new CommandMisused(`${option} must be a list like a,b`);
  return words;
}

async function serve(call: Call<typeof OPTIONS>): Promise<Report> {
  const { values, terminal, world } = call;
  if (values.json) throw new CommandMisused("mcp always writes JSON; omit --json");
  const allowed = values.allow ?? [];
  if (values.groups && !allowed.includes("approve")) throw new CommandMisused("--groups needs --allow approve");
  if (!terminal.pipes) throw new CommandMisused("mcp reads standard input; start it from an MCP client");
  if (terminal.keys) terminal.writeError("Waiting for an MCP client on standard input; ctrl-c ends.\n");
  let client = "unknown";
  const { openPlace } = await import("../mcp/place.js");
  const { serveMcp } = await import("../mcp/serve.js");
  const may = ["see", ...(values["hide-payloads"] ? [] : (["read"] as const)), ...allowed] as const;
  const place = await openPlace(call, { may, groups: values.groups, client: () => client });
  try {
    const onClient = (name: string) => {
      client = name;
    };
    await serveMcp({ place, world, terminal, onClient });
  } finally {
    await place.close();
  }
  return { text: "", json: {} };
}
