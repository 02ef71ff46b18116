// `holdfast mode` and `holdfast drain`: what a node does with its programs, changed from outside. It obeys within a second.

import { type Nodes, nodesOf } from "../../client/nodes.js";
import { type ModeState, NODE_MODES, type NodeMode } from "../../kernel/node-mode.js";
import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { textOption } from "../options.js";

export const mode: Command = {
  name: "mode",
  takes: ["NODE", "[full|trigger_only|disabled]"],
  summary: "what a node does with its programs: works on them, only starts them, or neither",
  details:
    "NODE is a name, an identity, or 8 characters of an incarnation (see `holdfast nodes`). What runs goes on. `full` also ends\n" +
    "a drain. Without a mode: what holds now.",
  options: {
    program: {
      type: "string",
      value: "NAME",
      says: "for one program, or all of an actor; it wins over the node's mode",
    },
    clear: { type: "boolean", says: "takes back what was said for --program, or for all programs" },
    keep: { type: "boolean", says: "also for later starts under the same identity" },
  },
  run: changeMode,
};

export const drain: Command = {
  name: "drain",
  takes: ["NODE"],
  summary: "let a node finish its steps, hand back its runs and take no more",
  details: "It stays up, starts runs and leaves them to others. `holdfast mode NODE full` lets it go on.",
  options: { exit: { type: "boolean", says: "then stop; its process ends if it listens to signals" } },
  run: async (call) => {
    const [node] = call.arguments as [string];
    const state = await (await nodes(call)).drain(node, { exit: call.values["exit"] === true });
    return report(node, state);
  },
};

async function nodes(call: Call): Promise<Nodes> {
  return nodesOf(await call.store(), call.env, call.actor);
}

async function changeMode(call: Call): Promise<Report> {
  const [node, wanted] = call.arguments as [string, string | undefined];
  const program = textOption(call.values, "program");
  const options = { keep: call.values["keep"] === true };
  const clears = call.values["clear"] === true;
  if (clears && wanted !== undefined) throw new CommandMisused("--clear takes back a mode; leave the mode out");
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
  throw new CommandMisused(`${JSON.stringify(text)} is no mode; the modes are ${NODE_MODES.join(", ")}`);
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
