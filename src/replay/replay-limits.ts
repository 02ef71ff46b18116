// What bounds the execution of a function.

export interface ReplayLimits {
  /** From the start of the generation, or from the operator's retry. */
  readonly timeoutMs: number | null;
  /** Count from here instead, on the database's clock. */
  readonly since?: number;
  /** The function is tried again as a whole: what it throws counts, even if the journal has more. */
  readonly retried?: boolean;
  /** Only working time counts: a waiting run is not woken for its timeout. */
  readonly atWork?: boolean;
  /** How long the function may clean up after a cancel or its timeout. Not given: the run ends at once. */
  readonly cleanupMs?: number;
  /** The most entries of one generation. */
  readonly historyLimit: number;
}

/**
 * Whether a run that sleeps may keep its claim: not where only the time of a claim counts, nor where a timeout counts from the first
 * claim over parks alone, because a run that gets no slot after its sleep is handed back.
 */
export function mayDoze({ atWork = false, retried = false, timeoutMs }: ReplayLimits): boolean {
  return !atWork && !(retried && timeoutMs !== null);
}
