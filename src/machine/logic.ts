// The interface between runtime and machine: pure steps from state to state, and the orders of each step. It is
// independent of XState.

/** An event of a machine. */
export interface MachineEvent {
  /** The name of the event. */
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

/** The receiver of an event: an instance; an invoked child, by the id of its invoke; or the instance that invoked the sender. */
export type Address =
  | { readonly machine: string; readonly id: string }
  | { readonly child: string }
  | { readonly parent: true };

/** What a step requests, in its order. */
export type Order =
  | { readonly kind: "entered"; readonly path: string }
  | { readonly kind: "exited"; readonly path: string }
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
      /** The state whose stay asks for it; null for an exit action. */
      readonly path: string | null;
    }
  /** An actor of the state at `path`: it answers with `xstate.done.actor.<id>` or `xstate.error.actor.<id>`. */
  | { readonly kind: "invoke"; readonly path: string; readonly id: string; readonly input: unknown }
  | {
      readonly kind: "send";
      readonly to: Address;
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
  /** What ended it with the status `error`. */
  readonly error: unknown;
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
  /** Null: no transition was taken. Throws what guards and assignments throw. */
  next(live: Live, event: MachineEvent): Step | null;
  /** Whether a transition takes the event here. */
  can(live: Live, event: MachineEvent): boolean;
  /** The `meta` of the active states, by their ids. */
  meta(live: Live): Readonly<Record<string, unknown>>;
  /** Whether the state value matches a partial one. */
  matches(live: Live, value: unknown): boolean;
  /** The paths of the active states. */
  active(live: Live): readonly string[];
  /** The `after` branches of a state. */
  branches(path: string): readonly AfterBranch[];
  delayMs(live: Live, branch: AfterBranch): number;
  /** Another text when a state has other `after` branches. */
  readonly shape: string;
  /** The same state, ended with an error. */
  fail(live: Live, error: unknown): Live;
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
