// `holdfast mode` and `holdfast drain`: change a node's mode from outside. The node applies it within a second.

import { type Nodes, nodesOf } from "../../client/nodes.js";
import { type ModeState, NODE_MODES, type NodeMode } from "../../kernel/node-mode.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused } from "../error.js";

const MODE_OPTIONS = {
  program: {
    type: "string",
    value: "NAME",
    description: "for one program, or all of an actor; overrides the node's mode",
  },
  clear: { type: "boolean", description: "remove the mode of --program, or of all programs" },
  keep: { type: "boolean", description: "also for later starts with the same identity" },
} as const satisfies Options;

export const mode = defineCommand({
  name: "mode",
  takes: ["NODE", "[full|trigger_only|disabled]"],
  summary: "show or set a node's mode: it executes its programs, only starts them, or neither",
  details:
    "NODE is a name, an identity, or 8 characters of an incarnation (see `holdfast nodes`). Running work continues. `full` also\n" +
    "ends a drain. Without a mode, prints the current one.",
  options: MODE_OPTIONS,
  run: changeMode,
});

const DRAIN_OPTIONS = {
  exit: { type: "boolean", description: "then stop; the process ends if the node handles signals" },
} as const satisfies Options;

export const drain = defineCommand({
  name: "drain",
  takes: ["NODE"],
  summary: "let a node finish its steps, release its runs and claim no more",
  details: "The node stays up, starts runs and leaves them to others. `holdfast mode NODE full` makes it work again.",
  options: DRAIN_OPTIONS,
  run: async (call) => {
    const [node] = call.arguments as [string];
    const state = await (await nodes(call)).drain(node, { exit: call.values.exit === true });
    return report(node, state);
  },
});

async function nodes(call: Call): Promise<Nodes> {
  return nodesOf(await call.store(), call.env, call.actor);
}

async function changeMode(call: Call<typeof MODE_OPTIONS>): Promise<Report> {
  const [node, wanted] = call.arguments as [string, string | undefined];
  const program = call.values.program;
  const options = { keep: call.values.keep === true };
  const clears = call.values.clear === true;
  if (clears && wanted !== undefined) throw new CommandMisused("--clear removes a mode; omit the mode");
  const all = await nodes(call);
  if (clears) {
    const state = program ? all.clearOverride(node, program, options) : all.clearAllOverrides(node, options);
    return report(node, await state);
  }
  if (wanted === undefined) return report(node, await all.find(node));
  const set = knownMode(wanted);
  return report(node, await (program ? all.override(node, program, set, options) : all.setMode(node, set, options)));
}

function knownMode(text: string): NodeMode {
  const found = NODE_MODES.find((known) => known === text);
  if (found) return found;
  throw new CommandMisused(`${JSON.stringify(text)} is not a mode; the modes are ${NODE_MODES.join(", ")}`);
}

function report(node: string, { mode: nodeMode, overrides, drain: drains }: ModeState): Report {
  return {
    text: `${node}: ${modeText({ mode: nodeMode, overrides, drain: drains })}\n`,
    json: { node, nodeMode, overrides, drain: drains },
  };
}

/** `trigger_only, drains; order: full`. */
export function modeText({ mode: nodeMode, overrides, drain: drains }: ModeState): string {
  const node = drains === null ? nodeMode : `${nodeMode}, drains${drains === "exit" ? " to exit" : ""}`;
  return [node, ...Object.entries(overrides).map(([program, one]) => `${program}: ${one}`)].join("; ");
}
