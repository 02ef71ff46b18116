// `node.mode`: the mode of this node, read and changed in the process itself. It is stored in the database first, for all nodes to see.

import { type ModeOptions, NodeUnknown, nameOf, type ProgramRef } from "../client/nodes.js";
import type { NodeParts } from "../engine/node-parts.js";
import type { Drain, ModeChange, ModeState, NodeMode } from "../kernel/node-mode.js";

/** The mode of this node and of its programs. */
export interface ModeStatus {
  /** The mode of the node. */
  readonly nodeMode: NodeMode;
  /** Modes of single programs, by name. */
  readonly overrides: Readonly<Record<string, NodeMode>>;
  /** Whether the node empties itself; null: it does not. */
  readonly drain: Drain | null;
  /** The identity of the node. */
  readonly nodeIdentity: string;
}

type Keep = Pick<ModeOptions, "keep">;

/** Reads and changes the mode of this node while it runs. */
export interface ModeControl {
  /** Of the whole node. What runs continues. Also ends a drain. */
  set(mode: NodeMode, options?: Keep): Promise<ModeStatus>;
  /** Of one program; it wins over the node's. */
  override(program: ProgramRef, mode: NodeMode, options?: Keep): Promise<ModeStatus>;
  /** The program has the mode of the node again. */
  clearOverride(program: ProgramRef, options?: Keep): Promise<ModeStatus>;
  /** All programs have the mode of the node again. */
  clearAllOverrides(options?: Keep): Promise<ModeStatus>;
  /** Claims nothing more, lets steps end, hands back what it holds, and stays up. */
  drain(): Promise<ModeStatus>;
  /** As this process knows it. */
  status(): ModeStatus;
  /** The mode that applies to a program. */
  of(program: ProgramRef): NodeMode;
}

export interface ModeControlOptions extends Pick<NodeParts, "store" | "modes" | "incarnation" | "identity" | "env"> {
  readonly obey: (state: ModeState) => Promise<void>;
}

export function modeControl({ store, modes, incarnation, identity, env, obey }: ModeControlOptions): ModeControl {
  const status = (): ModeStatus => {
    const { mode, overrides, drain } = modes.state;
    return { nodeMode: mode, overrides: { ...overrides }, drain, nodeIdentity: identity };
  };
  const change = async (what: ModeChange, { keep = false }: Keep = {}): Promise<ModeStatus> => {
    const state = await store.nodes.changeMode(incarnation, what, { keep, by: identity });
    if (!state) throw new NodeUnknown(identity, env);
    await obey(state);
    return status();
  };
  return {
    set: (mode, options) => change({ set: mode }, options),
    override: (program, mode, options) => change({ override: nameOf(program), mode }, options),
    clearOverride: (program, options) => change({ clear: nameOf(program) }, options),
    clearAllOverrides: (options) => change({ clearAll: true }, options),
    drain: () => change({ drain: "stay" }),
    status,
    of: (program) => modes.of(nameOf(program)),
  };
}
