// The modes of a node: what it does with its programs, as a whole and per program. Pure; both stores use it.

import { InvalidInput } from "./error.js";
import { programName } from "./name.js";

/**
 * `full`: starts and executes runs. `trigger_only`: starts them and leaves the work to others. `disabled`: neither;
 * running work continues.
 */
export const NODE_MODES = ["full", "trigger_only", "disabled"] as const;
/**
 * What a node does with its programs. `full`: starts and executes runs. `trigger_only`: starts them. `disabled`:
 * neither.
 */
export type NodeMode = (typeof NODE_MODES)[number];

/** A draining node claims nothing and releases what it holds. `stay`: it stays up; `exit`: it stops. */
export type Drain = "stay" | "exit";

/** The mode of a node and of its programs, as it is stored. */
export interface ModeState {
  /** The mode of the node. */
  readonly mode: NodeMode;
  /** By program name. */
  readonly overrides: Readonly<Record<string, NodeMode>>;
  /** Whether the node empties itself; null: it does not. */
  readonly drain: Drain | null;
}

export type ModeChange =
  /** Also ends a drain. */
  | { readonly set: NodeMode }
  | { readonly override: string; readonly mode: NodeMode }
  | { readonly clear: string }
  | { readonly clearAll: true }
  | { readonly drain: Drain };

export const FULL: ModeState = { mode: "full", overrides: {}, drain: null };

export function changeMode(state: ModeState, change: ModeChange): ModeState {
  if ("set" in change) return { ...state, mode: change.set, drain: null };
  if ("drain" in change) return { ...state, drain: change.drain };
  if ("clearAll" in change) return { ...state, overrides: {} };
  if ("override" in change) return { ...state, overrides: { ...state.overrides, [change.override]: change.mode } };
  const { [change.clear]: _, ...overrides } = state.overrides;
  return { ...state, overrides };
}

/**
 * The mode for a program with these names, the narrowest first: its own, then that of the actor it belongs to. While
 * the node drains, it executes nothing.
 */
export function effectiveMode({ mode, overrides, drain }: ModeState, names: readonly string[]): NodeMode {
  const name = names.find((one) => Object.hasOwn(overrides, one));
  const wanted = name === undefined ? mode : overrides[name]!;
  return drain !== null && wanted === "full" ? "trigger_only" : wanted;
}

export function nodeMode(mode: unknown, path = "mode"): NodeMode {
  if (NODE_MODES.includes(mode as NodeMode)) return mode as NodeMode;
  throw new InvalidInput(path, `must be one of ${NODE_MODES.join(", ")}; it is ${JSON.stringify(mode)}`);
}

/** Throws for an invalid change. */
export function checkModeChange(change: ModeChange): void {
  if ("set" in change) nodeMode(change.set);
  else if ("override" in change) {
    programName(change.override, "program");
    nodeMode(change.mode);
  } else if ("clear" in change) programName(change.clear, "program");
  else if ("drain" in change && change.drain !== "stay" && change.drain !== "exit") {
    throw new InvalidInput("drain", 'must be "stay" or "exit"');
  }
}
