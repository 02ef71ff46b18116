// A worker: polls a queue, runs the handler on each job it claims, reclaims the jobs of dead workers.
//
// stop() has four steps: ask every handler to finish its current piece (`stopping`), wait for the grace period, abort
// what remains (`signal`), and let go. A job whose handler has ended by then is handed back at once and at no cost; one
// whose handler still runs stays active until its visibility timeout expires, so that no other worker executes it
// meanwhile.

import { sleep } from "../kernel/world.js";
import { type Bus, createBus } from "../telemetry/bus.js";
import { JobWork } from "./job-work.js";
import { PollLoop } from "./poll-loop.js";
import type { OnDeadLetter } from "./queue-parts.js";
import type { WorkerEvents } from "./worker-events.js";
import { type WorkerOptions, type WorkerSettings, workerSettings } from "./worker-options.js";

/** How long an aborted handler may clean up. */
const ABORTED_GRACE_MS = 1_000;

export class WorkflowWorker {
  readonly workerId: string;
  readonly #settings: WorkerSettings;
  readonly #bus: Bus<WorkerEvents>;
  readonly #works = new Map<JobWork, Promise<void>>();
  #loop: PollLoop | null = null;
  #reclaim = new AbortController();
  #reclaiming: Promise<void> = Promise.resolve();
  #starting: Promise<PollLoop> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: WorkerOptions) {
    this.#settings = workerSettings(options);
    this.#bus = createBus<WorkerEvents>({ world: options.queue.world });
    this.workerId = this.#settings.workerId;
  }

  on: Bus<WorkerEvents>["on"] = (name, listener) => this.#bus.on(name, listener);

  readonly #onDeadLetter: OnDeadLetter = (letter) => this.#bus.emit("job:dead_letter", letter);

  get activeJobCount(): number {
    return this.#works.size;
  }

  /** Does nothing if it has already started. */
  async start(): Promise<void> {
    await this.#stopping;
    this.#starting ??= this.#start();
    try {
      await this.#starting;
    } catch (error) {
      this.#starting = null;
      throw error;
    }
  }

  /** Does nothing if it has not started. */
  async stop(): Promise<void> {
    if (!this.#starting) return;
    this.#stopping ??= this.#stop(this.#starting).finally(() => {
      this.#starting = null;
      this.#stopping = null;
    });
    await this.#stopping;
  }

  async #start(): Promise<PollLoop> {
    const { queue, workerId, pollIntervalMs } = this.#settings;
    await queue.signOn(workerId);
    const takeOne = (signal: AbortSignal) => this.#takeOne(signal);
    this.#loop = new PollLoop({ world: queue.world, pollIntervalMs, takeOne });
    this.#reclaim = new AbortController();
    this.#reclaiming = this.#reclaimOften(this.#reclaim.signal);
    this.#bus.emit("worker:started", { workerId });
    this.#loop.start();
    return this.#loop;
  }

  async #stop(starting: Promise<PollLoop>): Promise<void> {
    const { queue, workerId, shutdownGracePeriodMs } = this.#settings;
    const loop = await starting.catch(() => null);
    if (!loop) return;
    for (const work of this.#works.keys()) work.stop();
    await loop.stop();
    await this.#endedWithin(shutdownGracePeriodMs);
    for (const work of this.#works.keys()) work.cancel();
    await this.#endedWithin(ABORTED_GRACE_MS);
    for (const work of this.#works.keys()) work.letGo();
    this.#works.clear();
    this.#reclaim.abort();
    await this.#reclaiming;
    try {
      await queue.signOff(workerId);
    } catch (error) {
      this.#bus.emit("worker:error", { workerId, during: "stop", error });
    }
    this.#bus.emit("worker:stopped", { workerId });
  }

  async #takeOne(signal: AbortSignal): Promise<boolean> {
    const { queue, workerId, concurrency } = this.#settings;
    if (this.#works.size >= concurrency) return false;
    try {
      const job = await queue.dequeue(workerId, { onDeadLetter: this.#onDeadLetter });
      if (!job) return false;
      // It was claimed while stop() was called: its work has not begun.
      if (signal.aborted) await queue.handBack(job, workerId);
      else this.#begin(new JobWork(job, this.#settings, this.#bus));
      return true;
    } catch (error) {
      this.#bus.emit("worker:error", { workerId, during: "dequeue", error });
      return false;
    }
  }

  #begin(work: JobWork): void {
    const end = () => {
      this.#works.delete(work);
      this.#loop?.hint();
    };
    // In a turn of its own, so that a handler that counts the active jobs finds itself among them.
    const ended = Promise.resolve().then(() => work.run());
    this.#works.set(work, ended.finally(end));
  }

  async #reclaimOften(signal: AbortSignal): Promise<void> {
    const { queue, workerId, reclaimIntervalMs } = this.#settings;
    while (!signal.aborted) {
      await sleep(queue.world, reclaimIntervalMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        if ((await queue.reclaimExpired({ onDeadLetter: this.#onDeadLetter })) > 0) this.#loop?.hint();
      } catch (error) {
        this.#bus.emit("worker:error", { workerId, during: "reclaim", error });
      }
    }
  }

  /** Waits until no work is in progress, at most this long. */
  async #endedWithin(ms: number): Promise<void> {
    const enough = new AbortController();
    const ended = Promise.all(this.#works.values()).then(() => enough.abort());
    await Promise.race([ended, sleep(this.#settings.queue.world, ms, enough.signal).catch(() => {})]);
  }
}
