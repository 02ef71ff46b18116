// The nodes of an env and their modes, readable and changeable from any process. A node applies a change within a
// second.

import { HoldfastError } from "../kernel/error.js";
import type { ModeChange, ModeState, NodeMode } from "../kernel/node-mode.js";
import type { NodeRecord } from "../store/contract/node/nodes.js";
import type { Store } from "../store/contract/store.js";

/** No live node has this name. */
export class NodeUnknown extends HoldfastError {
  readonly code = "NODE_UNKNOWN";

  constructor(node: string, env: string) {
    super(`No live node in env ${env} is called ${JSON.stringify(node)}. List the nodes with \`holdfast nodes\`.`);
  }
}

/** Several live nodes have this name. */
export class NodeAmbiguous extends HoldfastError {
  readonly code = "NODE_AMBIGUOUS";

  constructor(node: string, found: readonly NodeRecord[]) {
    const ids = found.map(({ incarnation }) => incarnation.slice(0, 13)).join(", ");
    super(`${found.length} live nodes are called ${JSON.stringify(node)}; name one by its incarnation: ${ids}.`);
  }
}

/** Options of a change of mode. */
export interface ModeOptions {
  /** Also applies to later starts with the same identity. @default until the node stops */
  readonly keep?: boolean;
  /** Who changes it. */
  readonly by?: string;
}

/** Options of `drain`. */
export interface DrainOptions extends Pick<ModeOptions, "by"> {
  /** Also stops the node, and ends the process if the node handles signals. @default the node stays up */
  readonly exit?: boolean;
}

/** A definition, or its name. */
export type ProgramRef = string | { readonly name: string };

/** `node`: an identity, a name, or an incarnation (8 characters of it or more). */
export interface Nodes {
  /** Newest first. `stopped`: includes nodes that stopped in an orderly way. */
  list(options?: { readonly stopped?: boolean }): Promise<readonly NodeRecord[]>;
  /** The node with this name. */
  find(node: string): Promise<NodeRecord>;
  /** Changes the mode of a node; it obeys within a second. */
  setMode(node: string, mode: NodeMode, options?: ModeOptions): Promise<ModeState>;
  /** Gives one program another mode than its node. */
  override(node: string, program: ProgramRef, mode: NodeMode, options?: ModeOptions): Promise<ModeState>;
  /** The program has the mode of its node again. */
  clearOverride(node: string, program: ProgramRef, options?: ModeOptions): Promise<ModeState>;
  /** All programs have the mode of their node again. */
  clearAllOverrides(node: string, options?: ModeOptions): Promise<ModeState>;
  /** The node claims nothing more, lets steps finish and releases its claims. `setMode` makes it work again. */
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

/** A silent node matches only if no live node has the name: it may hang only for a moment. */
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
