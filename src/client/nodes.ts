// The nodes of an env, and their modes: seen and changed from anywhere. A node obeys within a second.

import { HoldfastError } from "../kernel/error.js";
import type { ModeChange, ModeState, NodeMode } from "../kernel/node-mode.js";
import type { NodeRecord } from "../store/contract/node/nodes.js";
import type { Store } from "../store/contract/store.js";

/** No live node goes by this name. */
export class NodeUnknown extends HoldfastError {
  readonly code = "NODE_UNKNOWN";

  constructor(node: string, env: string) {
    super(`No live node of env ${env} is called ${JSON.stringify(node)}. See \`holdfast nodes\`.`);
  }
}

/** Several live nodes go by this name. */
export class NodeAmbiguous extends HoldfastError {
  readonly code = "NODE_AMBIGUOUS";

  constructor(node: string, found: readonly NodeRecord[]) {
    const ids = found.map(({ incarnation }) => incarnation.slice(0, 13)).join(", ");
    super(`${found.length} live nodes are called ${JSON.stringify(node)}; name one by its incarnation: ${ids}.`);
  }
}

export interface ModeOptions {
  /** Also for later starts under the same identity. Default: until it stops. */
  readonly keep?: boolean;
  /** Who changes it. */
  readonly by?: string;
}

export interface DrainOptions extends Pick<ModeOptions, "by"> {
  /** Also stops, and ends the process if the node listens to signals. Default: it stays up. */
  readonly exit?: boolean;
}

/** A definition, or its name. */
export type ProgramRef = string | { readonly name: string };

/** `node`: an identity, a name, or an incarnation (8 characters of it or more). */
export interface Nodes {
  /** Newest first. `stopped`: also those that ended in order. */
  list(options?: { readonly stopped?: boolean }): Promise<readonly NodeRecord[]>;
  /** The one that goes by this name. */
  find(node: string): Promise<NodeRecord>;
  setMode(node: string, mode: NodeMode, options?: ModeOptions): Promise<ModeState>;
  override(node: string, program: ProgramRef, mode: NodeMode, options?: ModeOptions): Promise<ModeState>;
  clearOverride(node: string, program: ProgramRef, options?: ModeOptions): Promise<ModeState>;
  clearAllOverrides(node: string, options?: ModeOptions): Promise<ModeState>;
  /** Claims nothing more, lets steps end, hands back what it holds. `setMode` lets it go on. */
  drain(node: string, options?: DrainOptions): Promise<ModeState>;
}

const SHORTEST_INCARNATION = 8;

export function nodesOf({ nodes }: Store, env: string, by: string): Nodes {
  const change = async (name: string, what: ModeChange, options: ModeOptions = {}): Promise<ModeState> => {
    const { incarnation } = meant(name, await nodes.list({ env }), env);
    const state = await nodes.changeMode(incarnation, what, { keep: options.keep ?? false, by: options.by ?? by });
    if (!state) throw new NodeUnknown(name, env);
    return state;
  };
  return {
    list: ({ stopped = false } = {}) => nodes.list({ env, stopped }),
    find: async (node) => meant(node, await nodes.list({ env }), env),
    setMode: (node, mode, options) => change(node, { set: mode }, options),
    override: (node, program, mode, options) => change(node, { override: nameOf(program), mode }, options),
    clearOverride: (node, program, options) => change(node, { clear: nameOf(program) }, options),
    clearAllOverrides: (node, options) => change(node, { clearAll: true }, options),
    drain: (node, { exit = false, ...options } = {}) => change(node, { drain: exit ? "exit" : "stay" }, options),
  };
}

export function nameOf(program: ProgramRef): string {
  return typeof program === "string" ? program : program.name;
}

/** One that is silent counts only when no live one goes by the name: it may hang for a moment. */
function meant(name: string, all: readonly NodeRecord[], env: string): NodeRecord {
  const isCalled = ({ identity, name: shown, incarnation }: NodeRecord) =>
    identity === name ||
    shown === name ||
    (name.length >= SHORTEST_INCARNATION && incarnation.startsWith(name.toLowerCase()));
  const called = all.filter(isCalled);
  const alive = called.filter((node) => node.alive);
  const [one, ...more] = alive.length > 0 ? alive : called;
  if (!one) throw new NodeUnknown(name, env);
  if (more.length > 0) throw new NodeAmbiguous(name, [one, ...more]);
  return one;
}
