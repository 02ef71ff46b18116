// What the runtime asks of a machine: pure steps from state to state, and what each step wants done. It knows no XState.

export interface MachineEvent {
  readonly type: string;
}

/** A state in memory, as the machine's own language keeps it. */
export type Live = unknown;

/** Which branch of which state's `after` a timer belongs to. Found again by it after the definition was edited. */
export interface AfterBranch {
  /** The state, as `checkout.paying`; empty for the machine itself. */
  readonly path: string;
  /** The delay as it was written: its milliseconds, or its name. */
  readonly delay: string;
  /** Where it leads. */
  readonly to: readonly string[];
  /** How many branches the state had. */
  readonly of: number;
}

/** What a step wants done, in its order. */
export type Order =
  | { readonly kind: "after"; readonly branch: AfterBranch; readonly delayMs: number }
  /** A state with timers is left. */
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
      readonly kind: "tell";
      readonly machine: string;
      readonly id: string;
      readonly event: MachineEvent;
      readonly delayMs: number;
      /** To cancel it by. */
      readonly sendId: string | null;
    }
  /** To itself, as an event of its own. */
  | { readonly kind: "again"; readonly event: MachineEvent }
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
  /** Empty: it stays. */
  readonly to: readonly string[];
}

export interface Logic {
  begin(input: unknown): Step;
  /** Null: no transition takes this event here. Throws what guards and assignments throw. */
  next(live: Live, event: MachineEvent): Step | null;
  /** The event of a timer, as the definition is now; null when it has no such branch (any more). */
  eventOf(branch: AfterBranch): MachineEvent | null;
  /** As data. */
  save(live: Live): unknown;
  /** Throws when the state is not one of this definition's. */
  restore(saved: unknown): Live;
  view(live: Live): View;
  readonly chart: Chart;
  readonly effects: readonly string[];
}
