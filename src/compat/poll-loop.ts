// Takes one job after another while slots are free; when there is none, waits for the next poll or a free slot.

import { sleep, type World } from "../kernel/world.js";

export interface PollLoopOptions {
  readonly world: World;
  readonly pollIntervalMs: number;
  /** Claims a job and starts its work. False: no slot, no job, or no answer. */
  readonly takeOne: (signal: AbortSignal) => Promise<boolean>;
}

export class PollLoop {
  readonly #options: PollLoopOptions;
  readonly #stop = new AbortController();
  #hinted = false;
  #pause = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: PollLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#loop();
  }

  /** Look now: a slot is free, or a job came back. */
  hint(): void {
    this.#hinted = true;
    this.#pause.abort();
  }

  /** Resolves when nothing more is being taken. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#pause.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { world, pollIntervalMs, takeOne } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#hinted = false;
      if (await takeOne(signal)) continue;
      if (this.#hinted || signal.aborted) continue;
      this.#pause = new AbortController();
      await sleep(world, pollIntervalMs, this.#pause.signal).catch(() => {});
    }
  }
}
