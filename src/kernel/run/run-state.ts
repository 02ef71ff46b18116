// The states of a run and the moves between them. A trigger in the database rejects every other move.

/** Every state of a run. */
export const RUN_STATES = [
  "blocked", // waits for the tasks it needs
  "held", // waits to be admitted under a limit
  "waiting", // claimable, now or at available_at
  "running", // claimed; the only state with a token
  "parked", // waits for a message or for wake_at; takes no slot and no lease
  "paused", // stopped by a person
  "completed",
  "failed",
  "cancelled",
  "skipped",
  "dead", // its holders died too often, or its journal is damaged; an operator may retry it
  "quarantined", // stopped, not ended: no live node has code that fits the journal, or a person must decide
] as const;

/** The state of a run. */
export type RunState = (typeof RUN_STATES)[number];

/** Without `quarantined`: such a run keeps its key and its inbox, and callers keep waiting for its end. */
export const ENDED_STATES = ["completed", "failed", "cancelled", "skipped", "dead"] as const;
export type EndedState = (typeof ENDED_STATES)[number];

export function isEnded(state: RunState): state is EndedState {
  return (ENDED_STATES as readonly RunState[]).includes(state);
}

/**
 * From → to. Only an operator's retry leaves an ended state: `failed` and `dead` start a new generation (S16).
 * `quarantined` continues with the same journal, also automatically when a node with other code starts. `completed` and
 * `cancelled` are final, except for a run that is rewound, a task whose DAG is retried, and a completed DAG of which a task is.
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
  completed: ["waiting", "held", "blocked"],
  failed: ["waiting", "held", "blocked"],
  cancelled: ["waiting", "held", "blocked"],
  skipped: ["waiting", "held", "blocked"],
  dead: ["waiting", "held", "blocked"],
  quarantined: ["waiting", "held", "blocked", "paused", "cancelled"],
};

/** The states from which an operator may retry a run. */
export const RETRYABLE_STATES = ["failed", "dead", "quarantined"] as const satisfies readonly RunState[];

/** The states from which an operator may rewind it: ended after it had begun, or stopped. */
export const REWINDABLE_STATES: readonly RunState[] = [...RETRYABLE_STATES, "completed", "cancelled", "paused"];

/** The ended states that are left only with a new generation. */
export const REOPEN_NEEDS_GENERATION: readonly RunState[] = ["completed", "failed", "dead", "cancelled", "skipped"];

/** The ended state that only a task leaves, together with its DAG. */
export const REOPENED_WITH_DAG: readonly RunState[] = ["skipped"];

export function mayMove(from: RunState, to: RunState): boolean {
  return LEGAL_MOVES[from].includes(to);
}
