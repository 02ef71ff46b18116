// One leader among many processes: campaigns for a named lease, leads while it is certainly held, hands over at once.
//
// A term ends before the lease can expire: when no renewal was accepted for nine tenths of the lease, this process no
// longer leads, although no other process does yet. An answer "lost" ends it at once. An error ends nothing: the next
// attempt comes soon, and several fit within a lease.

import { leaseKey } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import { sleep, type World } from "../kernel/world.js";
import type { ResignReason } from "./error.js";
import { Office, type Term } from "./leader-term.js";
import { type LeaderTimes, type LeaderTiming, leaderTiming } from "./leader-timing.js";
import { createLeases, type Leases, type LeasesOptions } from "./leases.js";

export type LeaderOptions = LeasesOptions &
  LeaderTiming & {
    /** The name of the leadership: of all candidates for it, one leads. */
    readonly key: string;
    readonly onElected?: (term: Term) => unknown;
    /** Called before the lease ends, for whatever reason. */
    readonly onResigned?: (term: Term, reason: ResignReason) => unknown;
    /** A call failed, or a callback threw. The leader continues. */
    readonly onError?: (error: unknown) => void;
  };

export interface Leader extends AsyncDisposable {
  /** Begins to campaign. */
  start(): void;
  /**
   * True only while the lease is certainly held: judged by this process's monotonic clock, at the moment of the call.
   */
  isLeader(): boolean;
  /** The current term; null when this process does not lead. */
  readonly term: Term | null;
  /** Hands over at once and lets others go first: it campaigns again after the duration of a lease. */
  resign(): Promise<void>;
  /** Resigns and campaigns no more. */
  stop(): Promise<void>;
}

export function createLeader(options: LeaderOptions): Leader {
  const timing = leaderTiming(options);
  return new Campaign(options, createLeases(options), timing);
}

const FAREWELL_MS = 2_000;

class Campaign implements Leader {
  readonly #options: LeaderOptions;
  readonly #leases: Leases;
  readonly #times: LeaderTimes;
  readonly #world: World;
  readonly #key: string;
  readonly #stopped = new AbortController();
  #running: Promise<void> | null = null;
  #office: Office | null = null;

  constructor(options: LeaderOptions, leases: Leases, times: LeaderTimes) {
    this.#options = options;
    this.#leases = leases;
    this.#times = times;
    this.#world = options.world ?? systemWorld();
    this.#key = leaseKey(options.key, "key");
  }

  start(): void {
    this.#running ??= this.#campaign();
  }

  isLeader(): boolean {
    return this.term !== null;
  }

  get term(): Term | null {
    return this.#office?.term ?? null;
  }

  async resign(): Promise<void> {
    await this.#office?.leave();
  }

  async stop(): Promise<void> {
    this.#stopped.abort("stopped");
    await this.#within(FAREWELL_MS, Promise.all([this.#office?.leave(), this.#running]));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #campaign(): Promise<void> {
    const { leaseMs, lookMs } = this.#times;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const pauseMs = await this.#stand().catch((error) => {
        this.#tell(() => this.#options.onError?.(error));
        return lookMs;
      });
      // Who resigned lets the others go first.
      await sleep(this.#world, pauseMs ?? leaseMs, signal).catch(() => {});
    }
  }

  /** Asks for the lease, and holds office if it is granted. Answers when to ask again; null after a resignation. */
  async #stand(): Promise<number | null> {
    const { leaseMs, renewMs, lookMs } = this.#times;
    const askedAt = this.#world.monotonicNow();
    const lease = await this.#leases.acquire(this.#key, { for: leaseMs, renewEvery: renewMs });
    if (!lease.ok) return Math.max(1, Math.min(lookMs, lease.leftMs ?? lookMs));
    const office = new Office(lease, askedAt, this.#times, this.#world, {
      elected: (term) => this.#tell(() => this.#options.onElected?.(term)),
      resigned: (term, reason) => this.#tell(() => this.#options.onResigned?.(term, reason)),
      error: (error) => this.#tell(() => this.#options.onError?.(error)),
    });
    this.#office = office;
    // It was granted while stop() was called.
    if (this.#stopped.signal.aborted) await office.leave();
    else office.enter();
    const lost = await office.over;
    this.#office = null;
    return lost ? lookMs : null;
  }

  /** The store may be away: what is granted or given up after that is so all the same. */
  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    await Promise.race([work, sleep(this.#world, ms, over.signal).catch(() => {})]);
    over.abort("over");
  }

  /** A throwing callback must not affect the leader. */
  #tell(callback: () => unknown): void {
    const failed = (error: unknown) => {
      try {
        this.#options.onError?.(error);
      } catch {
        // The error handler itself failed.
      }
    };
    try {
      Promise.resolve(callback()).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
