// The service loop: every part of a node that works in rounds is one of these.
//
// A round does what there is to do and returns how long to pause. A wake shortens the pause; a wake during a round leads to another
// round. A round sees everything that is there when it begins, so it answers all earlier wakes at once, those for later included.

import { type World, within } from "./world.js";

/** The store may be away when a service stops: what is under way is not awaited for longer than this. */
export const STOP_GRACE_MS = 2_000;

/** Also after an error whose handler fails. */
const DEFAULT_PAUSE_MS = 1_000;

export interface Pause {
  /** Until the next round, unless it is woken earlier. Infinity: until it is woken. */
  readonly ms: number;
  /** No wake makes it shorter than this. @default 0 */
  readonly atLeastMs?: number;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a round that returns nothing leaves the pause to `pauseMs`
type MaybePause = number | Pause | void;

export interface RoundStart {
  /** There was a wake whose time has come, also one that came when the pause was already overdue. */
  readonly isWoken: boolean;
  /** How much later than planned the round begins; negative after a wake. */
  readonly lateMs: number;
}

export interface LoopOptions {
  readonly world: World;
  readonly round: (start: RoundStart) => Promise<MaybePause>;
  /** Reports what ended a round or broke a pause; `failures` counts the rounds in a row. */
  readonly onError: (error: unknown, failures: number) => MaybePause;
  /** The pause after a round or an error that returns none. @default 1 s */
  readonly pauseMs?: () => number;
}

export class Loop {
  readonly #options: LoopOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  /** The present pause or the one before the round under way, and its beginning on the monotonic clock. */
  #pause: Pause = { ms: 0 };
  #pausedAt = 0;
  /** Monotonic: the earliest wake since the last round began. */
  #wakeAt = Number.POSITIVE_INFINITY;
  /** Ends the present pause, or sets its timer again. */
  #rearm: (() => void) | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Aborts when the loop stops: for rounds that can end early. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  get isRunning(): boolean {
    return this.#running !== null && !this.isStopped;
  }

  /** There was a wake since the last round began. */
  get isWoken(): boolean {
    return this.#wakeAt < Number.POSITIVE_INFINITY;
  }

  /** The first round begins after `inMs`; without a delay, before this call returns. */
  start(inMs = 0): void {
    if (this.#running) return;
    this.#pause = { ms: inMs };
    this.#running = this.#run();
  }

  /** Begins no more rounds, and waits for the one under way. */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#stop.abort("stopped");
    this.#rearm?.();
    if (this.#running) await within(this.#options.world, graceMs, this.#running);
  }

  /** The next round begins within `inMs`. Of several wakes the earliest counts. */
  wake(inMs = 0): void {
    const at = this.#options.world.monotonicNow() + inMs;
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    this.#rearm?.();
  }

  /** Forgets the wakes and the planned round: nothing happens until the next wake. */
  rest(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#pause = { ms: Number.POSITIVE_INFINITY };
    this.#rearm?.();
  }

  async #run(): Promise<void> {
    const { world, round } = this.#options;
    for (let failures = 0; !this.isStopped; ) {
      try {
        const now = world.monotonicNow();
        this.#pausedAt = now;
        const leftMs = this.#leftMs(now);
        if (leftMs > 0) await this.#sleep(leftMs);
        if (this.isStopped) return;
        const plannedAt = this.#pausedAt + this.#pause.ms;
        const begunAt = world.monotonicNow();
        const start = { isWoken: this.#wakeAt < plannedAt || this.#wakeAt <= begunAt, lateMs: begunAt - plannedAt };
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.#pause = this.#pauseOf(await round(start));
        failures = 0;
      } catch (error) {
        this.#pause = this.#failed(error, ++failures);
        // Without a timer there is no pause: other work comes first.
        await world.turn();
      }
    }
  }

  /** Without an AbortController: the way from a wake to the round is as short as it can be. */
  #sleep(firstMs: number): Promise<void> {
    const { world } = this.#options;
    return new Promise((resolve, reject) => {
      let cancel = () => {};
      const end = () => {
        this.#rearm = null;
        resolve();
      };
      const arm = (ms: number) => {
        cancel();
        cancel = () => {};
        try {
          // The timer decides, not the clock: the last part of a millisecond might never pass on a clock that drifts.
          if (ms <= 0) end();
          else if (ms < Number.POSITIVE_INFINITY) cancel = world.after(ms, end);
        } catch (error) {
          this.#rearm = null;
          reject(error);
        }
      };
      this.#rearm = () => arm(this.isStopped ? 0 : this.#leftMs(world.monotonicNow()));
      arm(firstMs);
    });
  }

  #leftMs(now: number): number {
    const { ms, atLeastMs = 0 } = this.#pause;
    const sinceMs = now - this.#pausedAt;
    return Math.max(Math.min(ms - sinceMs, this.#wakeAt - now), atLeastMs - sinceMs);
  }

  #failed(error: unknown, failures: number): Pause {
    try {
      return this.#pauseOf(this.#options.onError(error, failures));
    } catch {
      return { ms: DEFAULT_PAUSE_MS };
    }
  }

  #pauseOf(pause: MaybePause): Pause {
    if (typeof pause === "object") return pause;
    return { ms: pause ?? this.#options.pauseMs?.() ?? DEFAULT_PAUSE_MS };
  }
}
