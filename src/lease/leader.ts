// One leader among many processes: campaigns for a named lease, leads while it is certainly held, hands over at once.
//
// A term ends before the lease can: when no renewal was accepted for nine tenths of the lease, this process no longer leads,
// though no other process does yet. An answer "lost" ends it at once. An error ends nothing: the next attempt comes soon, and there
// are several within a lease.

import { Loop, STOP_GRACE_MS } from "../kernel/loop.js";
import { leaseKey } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import { type World, within } from "../kernel/world.js";
import type { ResignReason } from "./error.js";
import { Office, type Term } from "./leader-term.js";
import { type LeaderTimes, type LeaderTiming, leaderTiming } from "./leader-timing.js";
import { createLeases, type Leases, type LeasesOptions } from "./leases.js";

/** Options of `createLeader`. */
export type LeaderOptions = LeasesOptions &
  LeaderTiming & {
    /** What is led: of all processes that campaign for this name, one leads. */
    readonly key: string;
    readonly onElected?: (term: Term) => unknown;
    /** Called before the lease ends, for whatever reason. */
    readonly onResigned?: (term: Term, reason: ResignReason) => unknown;
    /** A call failed, or a callback threw. The campaign continues. */
    readonly onError?: (error: unknown) => void;
  };

/** A candidate for a leadership: one of all processes with this key leads at a time. */
export interface Leader extends AsyncDisposable {
  /** Starts to campaign. */
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

/**
 * Takes part in a leader election after `start()`. `onElected` is called when this process leads, `onResigned` before it no
 * longer does.
 *
 * @example
 * ```ts
 * const candidate = (owner: string) =>
 *   createLeader({
 *     store,
 *     owner,
 *     key: "exports",
 *     lease: "3s",
 *     renew: "1s",
 *     onElected: ({ fence, signal }) => {
 *       console.log(`${owner} leads, epoch ${fence.epoch}`);
 *       signal.addEventListener("abort", () => console.log(`${owner} stops its work: ${signal.reason.reason}`));
 *     },
 *   });
 * ```
 */
export function createLeader(options: LeaderOptions): Leader {
  const timing = leaderTiming(options);
  return new Campaign(options, createLeases(options), timing);
}

class Campaign implements Leader {
  readonly #options: LeaderOptions;
  readonly #leases: Leases;
  readonly #times: LeaderTimes;
  readonly #world: World;
  readonly #key: string;
  readonly #loop: Loop;
  #office: Office | null = null;

  constructor(options: LeaderOptions, leases: Leases, times: LeaderTimes) {
    this.#options = options;
    this.#leases = leases;
    this.#times = times;
    this.#world = options.world ?? systemWorld();
    this.#key = leaseKey(options.key, "key");
    this.#loop = new Loop({
      world: this.#world,
      round: () => this.#campaign(),
      onError: (error) => this.#call(() => options.onError?.(error)),
      pauseMs: () => times.lookMs,
    });
  }

  start(): void {
    this.#loop.start();
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
    const stopped = this.#loop.stop();
    // The store may be away: a lease that is granted or released later is so all the same.
    await within(this.#world, STOP_GRACE_MS, Promise.all([this.#office?.leave(), stopped]));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Asks for the lease, and holds office if it is granted. Returns when to ask again. */
  async #campaign(): Promise<number> {
    const { leaseMs, renewMs, lookMs } = this.#times;
    const askedAt = this.#world.monotonicNow();
    const lease = await this.#leases.acquire(this.#key, { for: leaseMs, renewEvery: renewMs });
    if (!lease.ok) return Math.max(1, Math.min(lookMs, lease.leftMs ?? lookMs));
    const office = new Office({
      lease,
      askedAt,
      times: this.#times,
      world: this.#world,
      elected: (term) => this.#call(() => this.#options.onElected?.(term)),
      resigned: (term, reason) => this.#call(() => this.#options.onResigned?.(term, reason)),
      error: (error) => this.#call(() => this.#options.onError?.(error)),
    });
    this.#office = office;
    // It was granted while stop() was called.
    if (this.#loop.isStopped) await office.leave();
    else office.enter();
    const lost = await office.over;
    this.#office = null;
    // A leader that resigned lets the others go first.
    return lost ? lookMs : leaseMs;
  }

  /** A callback that throws is reported and ends nothing. */
  #call(callback: () => unknown): void {
    const failed = (error: unknown) => {
      try {
        this.#options.onError?.(error);
      } catch {
        // There is no handler left to report it to.
      }
    };
    try {
      Promise.resolve(callback()).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
