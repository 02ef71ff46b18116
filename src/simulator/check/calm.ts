// Checks liveness after everything has healed: work starts, is taken over and wakes within fixed bounds.

import { suspectFrom } from "../../kernel/run/suspicion.js";
import type { ModelRun } from "./model.js";

/** What it looks at: the history. */
interface Watched {
  readonly runs: ReadonlyMap<string, ModelRun>;
  readonly now: number;
  /** On the database's clock. */
  readonly nowUs: number;
  expect(holds: boolean, invariant: string, run: ModelRun, detail: string): void;
}

export interface Bounds {
  /** L1: how long a waiting run may wait for a free slot to take it. */
  readonly claimMs: number;
  /** L2, L4: how long after a lease has expired, or a wake-up is due, the run waits again. */
  readonly sweepMs: number;
  /** Slots of one node: with fewer runs at work every node has a free one. */
  readonly slots: number;
}

/** How soon something must have happened to a run once all faults are healed. */
interface Bound {
  readonly invariant: string;
  readonly due: number;
  readonly boundMs: number;
  readonly what: string;
}

export class Calm {
  readonly #bounds: Bounds;
  /** From when on the bounds count; never while a node is down. */
  since = Number.POSITIVE_INFINITY;
  /** When at least this many runs were last running, so that a node may have been full. */
  #fullAt = 0;
  /** How often a bound was looked at. */
  looks = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Around every operation. */
  look({ runs, now }: Watched): void {
    let running = 0;
    let alone = false;
    for (const { state, streak, crashLimit } of runs.values()) {
      if (state === "running") running++;
      alone ||= state === "running" && streak > suspectFrom(crashLimit);
    }
    // A node that executes a suspect claims nothing else for a while.
    if (running >= this.#bounds.slots || alone) this.#fullAt = now;
  }

  granted(history: Watched, run: ModelRun): void {
    const due = Math.max(run.waitingSince, dueAt(history, run.availableAtUs), this.#fullAt);
    this.#expect(history, run, { invariant: "L1", due, boundMs: this.#bounds.claimMs, what: "waited to be claimed" });
  }

  swept(history: Watched, run: ModelRun): void {
    const due = dueAt(history, run.leaseUntilUs);
    this.#expect(history, run, {
      invariant: "L2",
      due,
      boundMs: this.#bounds.sweepMs,
      what: "was left to a dead owner",
    });
  }

  woken(history: Watched, run: ModelRun, wakeAtUs: number): void {
    const due = dueAt(history, wakeAtUs);
    this.#expect(history, run, { invariant: "L4", due, boundMs: this.#bounds.sweepMs, what: "slept on" });
  }

  /** The bounds are those of the cluster, which has no node in another env. */
  #expect(history: Watched, run: ModelRun, { invariant, due, boundMs, what }: Bound): void {
    if (run.env !== "default") return;
    const ms = history.now - Math.max(due, this.since);
    if (history.now >= this.since) this.looks++;
    history.expect(ms <= boundMs, invariant, run, `${what} for ${ms.toFixed(3)} ms, ${boundMs.toFixed(3)} at most`);
  }
}

/** In virtual time; the database's clock does not jump once everything has healed. */
function dueAt({ now, nowUs }: Watched, us: number): number {
  return now - (nowUs - us) / 1000;
}
