// A worker: polls a queue, runs the handler on each job it claims, reclaims the jobs of workers that died.
//
// stop() goes in four steps: ask every handler to come to a good point (`stopping`), wait for the grace period, abort what
// outlives it (`signal`), and let go. A job whose handler has ended by then is handed back at once and at no cost; one
// whose handler still runs stays active until its visibility timeout has passed, so that no other worker takes it meanwhile.

import { Loop } from "../kernel/loop.js";
import { within } from "../kernel/world.js";
import { type Bus, createBus, type Listener } from "../telemetry/bus.js";
import { JobWork } from "./job-work.js";
import type { OnDeadLetter } from "./queue-parts.js";
import type { WorkerEvents } from "./worker-events.js";
import { type WorkerOptions, type WorkerSettings, workerSettings } from "./worker-options.js";

/** A node that is not heard of for three times its interval, 5 s, is shown as silent. */
const BEAT_MS = 4_000;
/** How long an aborted handler may clean up. */
const ABORTED_GRACE_MS = 1_000;

interface Loops {
  /** Takes one job after another while slots are free. Woken when a slot is free or a job came back. */
  readonly poll: Loop;
  readonly reclaim: Loop;
  /** Shows that the worker is alive, also while it has nothing to do. */
  readonly beat: Loop;
}

/**
 * Takes jobs from a workflow queue, keeps their claims alive and settles them by what the handler does.
 *
 * @example
 * ```ts
 * const worker = new WorkflowWorker({ queue, handler, concurrency: 2, pollIntervalMs: 20 });
 * ```
 */
export class WorkflowWorker {
  /** Its name in claims. */
  readonly workerId: string;
  readonly #settings: WorkerSettings;
  readonly #bus: Bus<WorkerEvents>;
  // biome-ignore lint/suspicious/noExplicitAny: a listener of any event
  readonly #ends = new Map<Listener<any>, readonly { readonly name: string; readonly end: () => void }[]>();
  readonly #works = new Map<JobWork, Promise<void>>();
  #loops: Loops | null = null;
  #starting: Promise<Loops> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: WorkerOptions) {
    this.#settings = workerSettings(options);
    this.#bus = createBus<WorkerEvents>({ world: this.#settings.world });
    this.workerId = this.#settings.workerId;
  }

  /** Returns a function that ends the subscription; so does `off` with the same listener. */
  on: Bus<WorkerEvents>["on"] = (name, listener) => {
    const end = this.#bus.on(name, listener);
    const ends = this.#ends.get(listener) ?? [];
    this.#ends.set(listener, [...ends, { name, end }]);
    return end;
  };

  /** For the next event of that name only. */
  once: Bus<WorkerEvents>["on"] = (name, listener) => {
    const end = this.#bus.on(name, (event) => {
      end();
      return listener(event);
    });
    this.#ends.set(listener, [...(this.#ends.get(listener) ?? []), { name, end }]);
    return end;
  };

  /** Ends every subscription of this listener to events of that name. */
  off<Name extends keyof WorkerEvents>(name: Name, listener: Listener<WorkerEvents[Name]>): void {
    const ends = this.#ends.get(listener) ?? [];
    for (const one of ends) if (one.name === name) one.end();
    const left = ends.filter((one) => one.name !== name);
    if (left.length > 0) this.#ends.set(listener, left);
    else this.#ends.delete(listener);
  }

  readonly #onDeadLetter: OnDeadLetter = (letter) => this.#bus.emit("job:dead_letter", letter);

  /** How many jobs it works on now. */
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

  async #start(): Promise<Loops> {
    const { queue, world, workerId, pollIntervalMs, reclaimIntervalMs } = this.#settings;
    await queue.signOn?.(workerId);
    const poll: Loop = new Loop({
      world,
      round: async () => ((await this.#takeOne(poll.signal)) ? 0 : pollIntervalMs),
      onError: (error) => this.#bus.emit("worker:error", { workerId, during: "dequeue", error }),
      pauseMs: () => pollIntervalMs,
    });
    const reclaim = new Loop({
      world,
      round: async () => {
        if ((await queue.reclaimExpired({ onDeadLetter: this.#onDeadLetter })) > 0) poll.wake();
      },
      onError: (error) => this.#bus.emit("worker:error", { workerId, during: "reclaim", error }),
      pauseMs: () => reclaimIntervalMs,
    });
    const beat = new Loop({
      world,
      round: async () => queue.beat?.(),
      onError: (error) => this.#bus.emit("worker:error", { workerId, during: "heartbeat", error }),
      pauseMs: () => BEAT_MS,
    });
    this.#loops = { poll, reclaim, beat };
    reclaim.start(reclaimIntervalMs);
    beat.start(BEAT_MS);
    this.#bus.emit("worker:started", { workerId });
    poll.start();
    return this.#loops;
  }

  async #stop(starting: Promise<Loops>): Promise<void> {
    const { queue, workerId, shutdownGracePeriodMs } = this.#settings;
    const loops = await starting.catch(() => null);
    if (!loops) return;
    for (const work of this.#works.keys()) work.stop();
    await loops.poll.stop(Number.POSITIVE_INFINITY);
    await this.#endedWithin(shutdownGracePeriodMs);
    for (const work of this.#works.keys()) work.cancel();
    await this.#endedWithin(ABORTED_GRACE_MS);
    for (const work of this.#works.keys()) work.letGo();
    this.#works.clear();
    await loops.reclaim.stop(Number.POSITIVE_INFINITY);
    await loops.beat.stop(Number.POSITIVE_INFINITY);
    try {
      await queue.signOff?.(workerId);
    } catch (error) {
      this.#bus.emit("worker:error", { workerId, during: "stop", error });
    }
    this.#bus.emit("worker:stopped", { workerId });
  }

  /** Claims a job and starts its work. False: no slot or no job. */
  async #takeOne(signal: AbortSignal): Promise<boolean> {
    const { queue, workerId, concurrency } = this.#settings;
    if (this.#works.size >= concurrency) return false;
    const job = await queue.dequeue(workerId, { onDeadLetter: this.#onDeadLetter });
    if (!job) return false;
    // It was on its way when stop() was called: no handler has begun to work on it.
    if (signal.aborted) await queue.handBack(job, workerId);
    else this.#begin(new JobWork(job, this.#settings, this.#bus));
    return true;
  }

  #begin(work: JobWork): void {
    const end = () => {
      this.#works.delete(work);
      // A job that its handler handed back waits for the next poll: claimed at once, it would be handed back without end.
      if (!work.handedBack) this.#loops?.poll.wake();
    };
    // In a turn of its own, so that a handler that counts the active jobs finds itself among them.
    const ended = Promise.resolve().then(() => work.run());
    this.#works.set(work, ended.finally(end));
  }

  /** Waits until no work is under way, at most this long. */
  async #endedWithin(ms: number): Promise<void> {
    await within(this.#settings.world, ms, Promise.all(this.#works.values()));
  }
}
