// A lease that leads: terms begin with its grant or a renewal, and end before it can expire.

import type { World } from "../kernel/world.js";
import { LeadershipEnded, type ResignReason } from "./error.js";
import type { Fence, HeldLease } from "./held-lease.js";
import type { LeaderTimes } from "./leader-timing.js";
import { keepRenewed } from "./renewer.js";

/** One period of leadership, from the election to its end. */
export interface Term {
  /** The key of the leadership. */
  readonly key: string;
  /** For outside systems: `epoch` rises with every new leader. */
  readonly fence: Fence;
  /** Aborts when the term ends; its reason is the `LeadershipEnded`. */
  readonly signal: AbortSignal;
}

export interface OfficeParts {
  readonly lease: HeldLease;
  /** Monotonic: when the granted call was sent. */
  readonly askedAt: number;
  readonly times: LeaderTimes;
  readonly world: World;
  elected(term: Term): void;
  resigned(term: Term, reason: ResignReason): void;
  error(error: unknown): void;
}

/** A granted lease, until it is lost or given up: one term, or several when renewals fail for a while. */
export class Office {
  readonly #parts: OfficeParts;
  #confirmedAt: number;
  #term: { readonly term: Term; readonly abort: AbortController } | null = null;
  #stopRenewing = () => {};
  #cancelDoubt = () => {};
  #leaving: Promise<void> | null = null;
  #end!: (lost: boolean) => void;
  /** Whether it was lost to another owner. */
  readonly over: Promise<boolean> = new Promise((resolve) => {
    this.#end = resolve;
  });

  constructor(parts: OfficeParts) {
    this.#parts = parts;
    this.#confirmedAt = parts.askedAt;
  }

  /** The timer that ends a term may be late, for example after the process was stopped, so the clock decides. */
  get term(): Term | null {
    return this.#leftMs() > 0 ? (this.#term?.term ?? null) : null;
  }

  enter(): void {
    const { leaseMs, renewMs } = this.#parts.times;
    this.#confirm(this.#confirmedAt);
    this.#stopRenewing = keepRenewed(
      {
        renew: () => this.#renew(),
        isOver: () => this.#leaving !== null || this.#parts.lease.signal.aborted,
        confirmedAt: () => this.#confirmedAt,
      },
      { world: this.#parts.world, leaseMs, renewEveryMs: renewMs, onRestart: (error) => this.#parts.error(error) },
    );
  }

  /** Ends its work first; then the lease is free for others. */
  leave(): Promise<void> {
    this.#leaving ??= this.#giveUp();
    return this.#leaving;
  }

  async #giveUp(): Promise<void> {
    this.#endTerm("resigned");
    this.#stopRenewing();
    try {
      if (!this.#parts.lease.signal.aborted) await this.#parts.lease.release();
    } catch (error) {
      // The lease expires.
      this.#parts.error(error);
    }
    this.#end(false);
  }

  async #renew(): Promise<void> {
    const sentAt = this.#parts.world.monotonicNow();
    try {
      await this.#parts.lease.renew();
    } catch (error) {
      if (this.#parts.lease.signal.aborted) this.#lose();
      else this.#parts.error(error);
      throw error;
    }
    this.#confirm(sentAt);
  }

  #lose(): void {
    this.#endTerm("lost");
    this.#stopRenewing();
    this.#end(true);
  }

  /** Leads, counted from when the accepted call was sent; also again after doubt. */
  #confirm(sentAt: number): void {
    if (this.#leaving) return;
    // The timer was late, for example after the process was stopped: the doubt came first.
    if (this.#leftMs() <= 0) this.#endTerm("doubt");
    this.#confirmedAt = Math.max(this.#confirmedAt, sentAt);
    const leftMs = this.#leftMs();
    if (leftMs <= 0) return;
    this.#cancelDoubt();
    this.#cancelDoubt = this.#parts.world.after(leftMs, () => this.#endTerm("doubt"));
    if (this.#term) return;
    const abort = new AbortController();
    const { key, fence } = this.#parts.lease;
    this.#term = { abort, term: { key, fence, signal: abort.signal } };
    this.#parts.elected(this.#term.term);
  }

  #endTerm(reason: ResignReason): void {
    this.#cancelDoubt();
    const ended = this.#term;
    this.#term = null;
    if (!ended) return;
    ended.abort.abort(new LeadershipEnded(ended.term.key, reason));
    this.#parts.resigned(ended.term, reason);
  }

  #leftMs(): number {
    return this.#confirmedAt + this.#parts.times.leadMs - this.#parts.world.monotonicNow();
  }
}
