// Waits for runs to change or to end: all waiting callers of a process share one poll per store.

import { type Pace, sharedBy, Watcher } from "../engine/watcher.js";
import { isEnded } from "../kernel/run/run-state.js";
import type { World } from "../kernel/world.js";
import type { RunGlance } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";

const FIRST_PAUSE_MS = 20;
/** How many results that are too long to come with a poll are read at a time. */
const LONG_ENDS = 100;
/** How long the last poll may take after a wait has timed out. */
const LAST_LOOK_MS = 1_000;

/** The run had no result in time. `misfits`: the builds that do not fit it, while it is quarantined as a misfit. */
export interface TimedOut {
  readonly timedOut: true;
  readonly misfits: readonly string[] | null;
}

/** The run has ended, or is quarantined for a reason other than a missing node with fitting code. */
function hasResult({ state, misfits }: RunGlance): boolean {
  return isEnded(state) || (state === "quarantined" && misfits === null);
}

export class RunWatcher {
  readonly #world: World;
  readonly #watcher: Watcher<RunGlance | null>;

  constructor(store: Store, world: World) {
    this.#world = world;
    this.#watcher = new Watcher({
      world,
      firstPauseMs: FIRST_PAUSE_MS,
      look: (runIds, pace) => look(store, runIds, pace),
    });
  }

  /** This process has written to the run, and may have ended it. */
  wake(runId: string): void {
    this.#watcher.wake(runId);
  }

  /** This process has written to the run, which has not ended: those that wait for its end need no poll for each step. */
  moved(runId: string): void {
    this.#watcher.announce(runId);
  }

  /** Polls at least once, even with a timeout of zero. Null: there is no such run. */
  untilEnded(runId: string, timeoutMs: number): Promise<RunGlance | TimedOut | null> {
    return new Promise((resolve, reject) => {
      let isLast = false;
      let misfits: readonly string[] | null = null;
      let cancel = () => {};
      const stop = () => {
        cancel();
        leave();
      };
      const leave = this.#watcher.watch(runId, {
        onSeen: (seen) => {
          const isOver = seen === null || hasResult(seen);
          misfits = seen?.state === "quarantined" ? seen.misfits : null;
          if (!isOver && !isLast) return false;
          stop();
          resolve(isOver ? seen : { timedOut: true, misfits });
          return false;
        },
        onFailed: (error) => {
          stop();
          reject(error);
        },
      });
      if (!Number.isFinite(timeoutMs)) return;
      cancel = this.#world.after(timeoutMs, () => {
        isLast = true;
        this.#watcher.wake(runId);
        cancel = this.#world.after(LAST_LOOK_MS, () => {
          leave();
          resolve({ timedOut: true, misfits });
        });
      });
    });
  }

  /** Resolves when the run is past that sequence number or gone, when it has ended there, or when the signal aborts. */
  untilMoved(runId: string, seq: number, signal: AbortSignal | undefined): Promise<"moved" | "ended"> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        signal?.removeEventListener("abort", onMoved);
        leave();
      };
      const onMoved = () => {
        stop();
        resolve("moved");
      };
      const leave = this.#watcher.watch(runId, {
        onWoken: onMoved,
        onSeen: (seen) => {
          const isEnd = seen !== null && seen.seq <= seq && isEnded(seen.state);
          if (seen !== null && seen.seq <= seq && !isEnd) return false;
          stop();
          resolve(isEnd ? "ended" : "moved");
          return true;
        },
        onFailed: (error) => {
          stop();
          reject(error);
        },
      });
      if (signal?.aborted) onMoved();
      else signal?.addEventListener("abort", onMoved, { once: true });
    });
  }
}

async function look(store: Store, runIds: readonly string[], pace: Pace): Promise<readonly (RunGlance | null)[]> {
  const seen = [...(await store.runs.glance(runIds))];
  const long = seen.flatMap((one, i) => (one && isEnded(one.state) && one.end === null ? [i] : []));
  for (let from = 0; from < long.length; from += LONG_ENDS) {
    const part = long.slice(from, from + LONG_ENDS);
    await pace();
    const ends = await store.journal.peek(part.map((i) => ({ runId: runIds[i]!, what: "end" })));
    // The run was retried meanwhile: the next poll sees its new state.
    for (const [n, i] of part.entries()) {
      const found = ends[n];
      seen[i] = found ? { ...seen[i]!, state: found.state, end: found.entry } : null;
    }
  }
  return seen;
}

/** One per store, shared by all clients and nodes of this process. */
export const runWatcher = sharedBy((store, world) => new RunWatcher(store, world));
