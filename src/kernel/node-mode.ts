// The modes of a node: what it does with its programs, as a whole and program by program. Pure; both stores keep the same.

import { InvalidInput } from "./error.js";
import { programName } from "./name.js";

/**
 * `full`: starts runs and works on them. `trigger_only`: starts them and leaves the work to others. `disabled`: neither;
 * what it works on already goes on.
 */
export const NODE_MODES = ["full", "trigger_only", "disabled"] as const;
export type NodeMode = (typeof NODE_MODES)[number];

/** A node that drains claims nothing, and hands back what it holds. `stay`: and stays up; `exit`: and stops. */
export type Drain = "stay" | "exit";

export interface ModeState {
  readonly mode: NodeMode;
  /** By the name of a program. */
  readonly overrides: Readonly<Record<string, NodeMode>>;
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
 * The mode for a program that goes by any of these names, the narrowest first: its own, then the one of what it belongs
 * to. While the node drains, nothing is worked on.
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

/** Throws what cannot be meant. */
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
