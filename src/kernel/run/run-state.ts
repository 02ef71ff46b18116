// The states of a run and the moves between them. A trigger in the database refuses every other move.

export const RUN_STATES = [
  "blocked", // waits for needs
  "held", // waits to be admitted under a limit
  "waiting", // to be claimed, now or at available_at
  "running", // claimed; the only state with a token
  "parked", // the run itself waits: woken by its inbox or at wake_at; costs no slot, no lease
  "paused", // stopped by a person
  "completed",
  "failed",
  "cancelled",
  "skipped",
  "dead", // gave up after crashes or attempts; an operator may open it again
  "quarantined", // stopped, not ended: no live node has code that fits the journal, or a person must decide
] as const;

export type RunState = (typeof RUN_STATES)[number];

/** `quarantined` is none of them: such a run keeps its key and its inbox, and those that wait for its end keep waiting. */
export const ENDED_STATES = ["completed", "failed", "cancelled", "skipped", "dead"] as const;
export type EndedState = (typeof ENDED_STATES)[number];

export function isEnded(state: RunState): state is EndedState {
  return (ENDED_STATES as readonly RunState[]).includes(state);
}

/**
 * From → to. What leaves an ended state is an operator's reset: `failed` and `dead` open a new generation (S16).
 * `quarantined` continues with the same log, also by itself when a node with other code comes. `completed` is final; `cancelled` and `skipped` are, too, except for a task
 * whose DAG is tried again.
 */
export const LEGAL_MOVES: Readonly<Record<RunState, readonly RunState[]>> = {
  blocked: ["waiting", "held", "paused", "cancelled", "skipped", "failed"],
  held: ["waiting", "paused", "cancelled", "skipped", "failed"],
  waiting: ["running", "held", "paused", "cancelled", "failed", "quarantined"],
  running: [
    "waiting",
    "held",
    "parked",
    "paused",
    "completed",
    "failed",
    "cancelled",
    "skipped",
    "dead",
    "quarantined",
  ],
  parked: ["waiting", "held", "paused", "cancelled", "failed"],
  paused: ["blocked", "held", "waiting", "parked", "cancelled", "failed"],
  completed: [],
  failed: ["waiting", "held", "blocked"],
  cancelled: ["waiting", "held", "blocked"],
  skipped: ["waiting", "held", "blocked"],
  dead: ["waiting", "held", "blocked"],
  quarantined: ["waiting", "held", "blocked", "paused", "cancelled"],
};

/** The ended states from which an operator may retry a run. */
export const RETRYABLE_STATES = ["failed", "dead", "quarantined"] as const satisfies readonly RunState[];

/** The ended states that may only be left together with a new generation. */
export const REOPEN_NEEDS_GENERATION: readonly RunState[] = ["failed", "dead", "cancelled", "skipped"];

/** The ended states that only a task leaves, together with its DAG. */
export const REOPENED_WITH_DAG: readonly RunState[] = ["cancelled", "skipped"];

export function mayMove(from: RunState, to: RunState): boolean {
  return LEGAL_MOVES[from].includes(to);
}
