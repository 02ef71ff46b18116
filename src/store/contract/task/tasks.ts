// The tasks of a run, all of them at once.

/** What `reconcile` found. */
export interface Reconciled {
  /** Rows whose count of open needs was wrong and is right now. */
  readonly replayed: number;
  /** Rows that were as they should be. */
  readonly skipped: number;
}

export interface RunTasks {
  /** Its tasks only, for the run itself; returns how many are still running and were asked to stop. */
  cancelTasks(runId: string, options: { readonly by: string; readonly reason?: string }): Promise<number>;

  /**
   * Checks that runs which wait for tasks wait for as many as are open, and repairs rows where they do not. `env`, `stack`:
   * only runs of this env, of this stack and of none; omitted: all runs.
   */
  reconcile(scope?: { readonly env?: string; readonly stack?: string }): Promise<Reconciled>;
}
