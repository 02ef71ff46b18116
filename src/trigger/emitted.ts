// The answer of `emit`: the outcome for each trigger that matches the event.

import type { HoldfastError } from "../kernel/error.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { StartAnswer } from "../store/contract/event/events.js";
import type { Judged } from "./planned-run.js";

/** The answer to `emit`: what happened to the event at each trigger. */
export interface Emitted {
  /** One per matching trigger, sorted by program. */
  readonly runs: readonly EmittedRun[];
}

/** What happened to the event at one trigger. */
export type EmittedRun =
  /**
   * `duplicate`: the same event had already started the run. `debounced`: the run begins when its subject is quiet.
   * `skipped`: a limit had no free slot, and its overflow policy does not let the run wait.
   */
  | {
      readonly program: string;
      readonly runId: string;
      readonly outcome: "started" | "duplicate" | "debounced" | "skipped";
    }
  /** The program's circuit breaker is open: nothing was started, and this event will not start it later. */
  | { readonly program: string; readonly runId: null; readonly outcome: "rejected" };

export type Answer =
  | { readonly outcome: keyof typeof OUTCOMES; readonly runId: string }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

const OUTCOMES = {
  inserted: "started",
  existing: "duplicate",
  conflict: "duplicate",
  gathered: "debounced",
  skipped: "skipped",
} as const;

export function emitted(planned: readonly Judged[], answers: ReadonlyMap<NewRun, Answer>): Emitted | HoldfastError {
  const runs: EmittedRun[] = [];
  for (const { run } of planned) {
    const { program } = run.group;
    const answer = answers.get(run);
    if (!answer) runs.push({ program, runId: null, outcome: "rejected" });
    else if (answer.outcome === "refused") return answer.error;
    else runs.push({ program, runId: answer.runId, outcome: OUTCOMES[answer.outcome] });
  }
  return byProgram(runs);
}

export function startedBy({ matched, runs }: Extract<StartAnswer, { outcome: "started" }>): Emitted {
  return byProgram(
    runs.map(({ runId, outcome }, i) => ({ program: matched[i]!.program, runId, outcome: OUTCOMES[outcome] })),
  );
}

function byProgram(runs: EmittedRun[]): Emitted {
  return { runs: runs.sort((a, b) => (a.program < b.program ? -1 : a.program > b.program ? 1 : 0)) };
}
