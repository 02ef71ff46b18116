// The renewer: renews a lease again and again, well before it expires, until it is stopped.

import { Loop } from "../kernel/loop.js";
import { type World, within } from "../kernel/world.js";

export interface Renewable {
  /** Rejects when there was no answer, or the lease is lost. */
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
  /** The renewer itself broke; it continues after this. */
  readonly onRestart: (error: unknown) => void;
}

/** After an error it asks again sooner: 8 more times within a lease that is renewed at a third. */
const RETRIES_PER_INTERVAL = 4;

/** Returns a function that stops it. */
export function keepRenewed(lease: Renewable, { world, leaseMs, renewEveryMs, onRestart }: RenewerOptions): () => void {
  const retryMs = Math.max(1, Math.floor(renewEveryMs / RETRIES_PER_INTERVAL));
  // From the confirmed beginning, not from now: a slow answer or a blocked process does not delay the next renewal.
  const untilDue = () => Math.max(0, lease.confirmedAt() + renewEveryMs - world.monotonicNow());
  const pauseMs = (isRenewed: boolean) => {
    if (lease.isOver()) return Number.POSITIVE_INFINITY;
    return isRenewed ? untilDue() : retryMs;
  };

  async function round(): Promise<number> {
    await world.faultPoint("lease.renew");
    if (loop.isStopped || lease.isOver()) return Number.POSITIVE_INFINITY;
    const renewal = lease.renew().then(
      () => true,
      () => false,
    );
    // A store that never answers must not end the renewing: after a lease's time the next call is made.
    return pauseMs((await within(world, leaseMs, renewal, loop.signal)) ?? false);
  }

  // Not the store's answer but a mistake in here. A lease must not expire because of one.
  const onError = (error: unknown) => {
    onRestart(error);
    return pauseMs(false);
  };
  const loop: Loop = new Loop({ world, round, onError });
  if (!lease.isOver()) loop.start(untilDue());
  return () => void loop.stop(Number.POSITIVE_INFINITY);
}
