// The interface between runtime and machine: pure steps from state to state, and the orders of each step. It is
// independent of XState.

export interface MachineEvent {
  readonly type: string;
}

/** A state in memory, in the machine's own representation. */
export type Live = unknown;

/**
 * The branch of a state's `after` that a timer belongs to. It identifies the branch after the definition was edited.
 */
export interface AfterBranch {
  /** The state, like `checkout.paying`; empty for the machine itself. */
  readonly path: string;
  /** The delay as written: its milliseconds, or its name. */
  readonly delay: string;
  /** The target states. */
  readonly to: readonly string[];
  /** How many branches the state had. */
  readonly of: number;
}

/** What a step requests, in its order. */
export type Order =
  | { readonly kind: "after"; readonly branch: AfterBranch; readonly delayMs: number }
  /** A state with timers was left. */
  | { readonly kind: "left"; readonly path: string; readonly delay: string }
  | { readonly kind: "raise"; readonly id: string | null; readonly event: MachineEvent; readonly delayMs: number }
  | { readonly kind: "cancel"; readonly id: string }
  | {
      readonly kind: "effect";
      readonly name: string;
      readonly params: unknown;
      readonly context: unknown;
      readonly event: MachineEvent;
    }
  | {
      readonly kind: "send";
      readonly machine: string;
      readonly id: string;
      readonly event: MachineEvent;
      readonly delayMs: number;
      /** The id by which it can be cancelled. */
      readonly sendId: string | null;
    }
  /** An event to itself, applied as a step of its own. */
  | { readonly kind: "toSelf"; readonly event: MachineEvent }
  | { readonly kind: "emit"; readonly event: MachineEvent }
  | { readonly kind: "log"; readonly label: string | null; readonly value: unknown };

export interface Step {
  readonly live: Live;
  readonly orders: readonly Order[];
}

export interface View {
  readonly value: unknown;
  readonly context: unknown;
  readonly status: "active" | "done" | "error" | "stopped";
  readonly output: unknown;
  readonly tags: readonly string[];
}

/** A machine as a tree, for diagrams. */
export interface Chart {
  readonly path: string;
  readonly key: string;
  readonly type: string;
  readonly initial: string | null;
  readonly states: readonly Chart[];
  readonly transitions: readonly ChartTransition[];
}

export interface ChartTransition {
  /** Null: always. */
  readonly event: string | null;
  readonly delay: string | null;
  readonly guard: string | null;
  /** Empty: it stays in its state. */
  readonly to: readonly string[];
}

export interface Logic {
  begin(input: unknown): Step;
  /** Null: no transition takes this event here. Throws what guards and assignments throw. */
  next(live: Live, event: MachineEvent): Step | null;
  /** The event of a timer in the current definition; null when no branch matches (any more). */
  eventOf(branch: AfterBranch): MachineEvent | null;
  /** As data. */
  save(live: Live): unknown;
  /** Throws when the definition does not know the state. */
  restore(saved: unknown): Live;
  view(live: Live): View;
  readonly chart: Chart;
  readonly effects: readonly string[];
}
