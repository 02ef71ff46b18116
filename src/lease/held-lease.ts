// A lease held by its owner: its operations, from the grant to its single end.
//
// Three sources of truth, in this order: a rejected call proves the loss, and aborts at once. An accepted renewal
// proves that the lease was held. Between them this process's monotonic clock decides when the lease is in doubt: then
// nothing new should begin, but running work continues, and its end is accepted if no other owner took over.

import { InvalidInput } from "../kernel/error.js";
import { failureDetail } from "../kernel/failure-detail.js";
import type { World } from "../kernel/world.js";
import type { Telemetry } from "../telemetry/bus.js";
import { LeaseLost, LeaseMisused } from "./error.js";
import type { LeaseEvents } from "./lease-events.js";
import { keepRenewed } from "./renewer.js";
import type { ReportedClaims } from "./reported-claims.js";
import type { Granted, WorkClaims } from "./work-claims.js";

/**
 * For outside systems: they remember the highest epoch they saw for a key and reject a lower one. The token
 * distinguishes two holders whose epochs are equal because the database lost a commit in a failover.
 */
export interface Fence {
  /** Rises with each grant of the key. */
  readonly epoch: bigint;
  /** Random, of this grant only. */
  readonly token: string;
}

/** What the function passed to `hold` receives. */
export interface HoldScope {
  /** The key of the lease. */
  readonly key: string;
  /** 1 for a new key; one more after each steal or failure. */
  readonly attempt: number;
  /** Pass it to outside systems, which then refuse an older holder. */
  readonly fence: Fence;
  /** Aborts when the lease is proven to be lost; its reason is the `LeaseLost`. */
  readonly signal: AbortSignal;
  /** True while no renewal was accepted for the duration of a lease: begin nothing new, finish running work. */
  inDoubt(): boolean;
}

export interface HeldLeaseParts {
  readonly key: string;
  readonly owner: string;
  readonly granted: Granted;
  /** Monotonic: when the granted call was sent. */
  readonly askedAt: number;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly reported: ReportedClaims;
  readonly claims: WorkClaims;
  readonly world: World;
  readonly bus: Telemetry<LeaseEvents> | undefined;
}

type End = "complete" | "fail" | "release";

/** A lease that this process holds: renew it by `hold`, end it by `complete`, `fail` or `release`. */
export class HeldLease implements AsyncDisposable {
  /** Distinguishes it from a `BusyLease`. */
  readonly ok = true;
  /** The key of the lease. */
  readonly key: string;
  /** Who holds it. */
  readonly owner: string;
  /** Rises with each grant of the key. */
  readonly epoch: number;
  /** Random, of this grant only. */
  readonly token: string;
  /** 1 for a new key or after an orderly end; one more after each steal or failure. */
  readonly attempt: number;
  /** Epoch and token, for outside systems. */
  readonly fence: Fence;
  readonly #parts: HeldLeaseParts;
  readonly #abort = new AbortController();
  #confirmedAt: number;
  #lost: LeaseLost | null = null;
  #end: { readonly call: End; readonly done: Promise<void> } | null = null;
  #wasHeld = false;

  /** Leases are acquired, not constructed: `createLeases(…).acquire`. */
  constructor(parts: HeldLeaseParts) {
    this.#parts = parts;
    this.#confirmedAt = parts.askedAt;
    this.key = parts.key;
    this.owner = parts.owner;
    this.epoch = parts.granted.epoch;
    this.token = parts.granted.token;
    this.attempt = parts.granted.attempt;
    this.fence = { epoch: BigInt(this.epoch), token: this.token };
  }

  /** Aborts when the lease is proven to be lost. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** True while no renewal was accepted for the duration of the lease: begin nothing new. */
  inDoubt(): boolean {
    const { world, leaseMs } = this.#parts;
    return world.monotonicNow() - this.#confirmedAt >= leaseMs;
  }

  /** Asks whether it is held at this moment. Only the fence, checked where you write, proves it for the next one. */
  async owns(): Promise<boolean> {
    const { claims } = this.#parts;
    if (this.#lost || this.#end) return false;
    return claims.owns ? claims.owns(this.key, this.owner, this) : !this.inDoubt();
  }

  /**
   * Renews it once. Throws `LeaseLost`; an error of the store means that the outcome is unknown, and the call may be
   * repeated.
   */
  async renew(): Promise<void> {
    const { reported, leaseMs, world } = this.#parts;
    this.#expectOpen();
    const sentAt = world.monotonicNow();
    await reported.renew(this.key, this.owner, { leaseMs, grant: this }, (answer) => {
      // Rejected because it was ended meanwhile: that call reports the outcome.
      if (this.#end) return false;
      if (answer === "held") this.#confirmedAt = Math.max(this.#confirmedAt, sentAt);
      if (answer === "lost") this.#lose();
      return true;
    });
    if (this.#lost) throw this.#lost;
  }

  /** The work is done. Throws `LeaseLost` if this owner no longer had the lease. */
  async complete(): Promise<void> {
    return this.#endBy("complete", () => this.#parts.reported.complete(this.key, this.owner, this));
  }

  /** The work failed: the next acquire of the key is attempt + 1. */
  async fail(detail: string): Promise<void> {
    if (typeof detail !== "string") throw new InvalidInput("detail", `must be a string, not ${typeof detail}`);
    return this.#endBy("fail", () => this.#parts.reported.fail(this.key, this.owner, detail, this));
  }

  /** Gives it up without having done the work. */
  async release(): Promise<void> {
    return this.#endBy("release", () => this.#parts.reported.release(this.key, this.owner, this));
  }

  /**
   * Runs the function while the lease is renewed: completes the lease when it returns, fails it when it throws. When
   * the lease is lost it waits for the function to end, then throws `LeaseLost`, whatever the function returned.
   */
  async hold<T>(work: (scope: HoldScope) => T | Promise<T>): Promise<T> {
    this.#expectOpen();
    if (this.#wasHeld) throw new LeaseMisused(this.key, "hold() was already called");
    this.#wasHeld = true;
    let result: T;
    try {
      result = await this.#renewedWhile(() => work(this.#scope()));
    } catch (thrown) {
      throw await this.#afterThrow(thrown);
    }
    // The function may have ended the lease itself. A lost lease cannot be completed: that throws.
    await (this.#end ? this.#end.done : this.complete());
    return result;
  }

  /** Releases the lease if it is still held. Never throws: an error is reported on the bus, and the lease expires. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#lost || this.#end) return;
    await this.release().catch(() => {});
  }

  async #renewedWhile<T>(work: () => T | Promise<T>): Promise<T> {
    const { world, leaseMs, renewEveryMs, bus } = this.#parts;
    const { key, owner } = this;
    const stop = keepRenewed(
      {
        renew: () => this.renew(),
        isOver: () => this.#lost !== null || this.#end !== null,
        confirmedAt: () => this.#confirmedAt,
      },
      {
        world,
        leaseMs,
        renewEveryMs,
        onRestart: (error) => bus?.emit("lease.renewer_restarted", { key, owner, count: 1, error }),
      },
    );
    try {
      return await work();
    } finally {
      stop();
    }
  }

  #scope(): HoldScope {
    const { key, attempt, fence, signal } = this;
    return { key, attempt, fence, signal, inDoubt: () => this.inDoubt() };
  }

  /** What `hold` throws after its function threw. */
  async #afterThrow(thrown: unknown): Promise<unknown> {
    if (!this.#lost && !this.#end) {
      // An unreachable store must not hide the function's error; the bus has reported it.
      await this.fail(failureDetail(thrown)).catch(() => {});
    }
    if (!this.#lost || thrown === this.#lost) return thrown;
    return new LeaseLost(this, { cause: thrown });
  }

  #expectOpen(): void {
    if (this.#lost) throw this.#lost;
    if (this.#end) throw new LeaseMisused(this.key, `it was ended by ${this.#end.call}()`);
  }

  /** Repeating the same end succeeds; a different end comes too late. */
  async #endBy(call: End, send: () => Promise<boolean>): Promise<void> {
    if (this.#end?.call === call) return this.#end.done;
    this.#expectOpen();
    const done = this.#sendEnd(send);
    this.#end = { call, done };
    return done;
  }

  async #sendEnd(send: () => Promise<boolean>): Promise<void> {
    let accepted = false;
    try {
      accepted = await send();
    } catch (error) {
      // Whether it was written is unknown: the same call may be repeated and finds its own effect.
      this.#end = null;
      throw error;
    }
    if (accepted) return;
    this.#end = null;
    throw this.#lose();
  }

  #lose(): LeaseLost {
    this.#lost ??= new LeaseLost(this);
    this.#abort.abort(this.#lost);
    return this.#lost;
  }
}
