// The renewer: renews a lease repeatedly, well before it expires, until it is stopped.

import type { World } from "../kernel/world.js";

export interface Renewable {
  /** Rejects when there was no answer, or when the lease is lost. */
  renew(): Promise<void>;
  /** Nothing is left to renew: lost or ended. */
  isOver(): boolean;
  /** Monotonic: when the last accepted grant or renewal was sent. */
  confirmedAt(): number;
}

export interface RenewerOptions {
  readonly world: World;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** The renewer itself failed; it continues afterwards. */
  readonly onRestart: (error: unknown) => void;
}

/** After an error it asks sooner: 8 more times within a lease that is renewed at a third. */
const RETRIES_PER_INTERVAL = 4;

/** Returns a function that stops it. */
export function keepRenewed(lease: Renewable, { world, leaseMs, renewEveryMs, onRestart }: RenewerOptions): () => void {
  const retryMs = Math.max(1, Math.floor(renewEveryMs / RETRIES_PER_INTERVAL));
  let stopped = false;
  let cancelTimer = () => {};
  let cancelPatience = () => {};

  /** A store that never answers must not stop the renewing: after the duration of a lease the next call is made. */
  async function renewWithin(ms: number): Promise<boolean> {
    const patience = new Promise<boolean>((resolve) => {
      cancelPatience = world.after(ms, () => resolve(false));
    });
    const renewal = lease.renew().then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([renewal, patience]);
    } finally {
      cancelPatience();
    }
  }

  async function beat(): Promise<void> {
    let renewed = false;
    try {
      await world.faultPoint("lease.renew");
      if (stopped || lease.isOver()) return;
      renewed = await renewWithin(leaseMs);
    } catch (error) {
      // Not the store's answer but a bug in here. A lease must not expire because of one.
      onRestart(error);
    }
    arm(renewed ? untilDue() : retryMs);
  }

  /** From the confirmed beginning, not from now: a slow answer or a blocked process does not push the next one back. */
  function untilDue(): number {
    return Math.max(0, lease.confirmedAt() + renewEveryMs - world.monotonicNow());
  }

  function arm(ms: number): void {
    if (!stopped && !lease.isOver()) cancelTimer = world.after(ms, () => void beat());
  }

  arm(untilDue());
  return () => {
    stopped = true;
    cancelTimer();
    cancelPatience();
  };
}
