// Stopping runs from outside: cancel, pause and resume, each with the tasks of the run.

import type { EndedState, RunState } from "../../../kernel/run/run-state.js";

export type CancelAnswer =
  | { readonly outcome: "cancelled" }
  /** The run is running: its holder finds the request in the inbox. */
  | { readonly outcome: "requested" }
  | { readonly outcome: "ended"; readonly state: EndedState }
  | { readonly outcome: "unknown" };

export type PauseAnswer =
  | { readonly outcome: "paused" }
  /** The run, or a task of it, is running: its holder was asked to stop. */
  | { readonly outcome: "requested" }
  | { readonly outcome: "ended"; readonly state: EndedState }
  | { readonly outcome: "unknown" };

/** How far a cancel or a pause of a run and its tasks has come. */
export interface StopProgress {
  /** Of the run itself. */
  readonly state: RunState;
  /** Of it and its tasks: those that are running. */
  readonly running: number;
  /** Of it and its tasks: those that have the request in their inbox and have not read it. */
  readonly unanswered: number;
}

export type ResumeAnswer =
  | { readonly outcome: "resumed" }
  | { readonly outcome: "not paused"; readonly state: RunState }
  | { readonly outcome: "unknown" };

export interface RunStops {
  /** With its tasks: running ones are asked to end, and the run ends when they have. */
  cancel(runId: string, options: { readonly by: string; readonly reason?: string }): Promise<CancelAnswer>;

  /** Stops a run and its tasks until they are resumed. Work under way is aborted, and starts again on resume. */
  pause(runId: string, options: { readonly by: string }): Promise<PauseAnswer>;

  resume(runId: string, options: { readonly by: string }): Promise<ResumeAnswer>;

  /**
   * Returns the state of a cancel or a pause, and reminds the holders that have not read it. A holder that has read it begins nothing
   * more of its run. Null: there is no such run.
   */
  stopping(runId: string): Promise<StopProgress | null>;
}
