// The only access to time, randomness, timers and ids. Nothing else in src touches them, so the whole library runs in a
// simulator. The real implementation is in system-world.ts.

import type { Bendable } from "./buggify.js";

/** One call of user code with effects outside: an attempt of a step, of a graph's node, of a task. */
export interface UserCall {
  /** The id of the run. */
  readonly runId: string;
  /** What is called, such as `step`. */
  readonly kind: string;
  /** The name of the call. */
  readonly name: string;
  /** What the function gets. */
  readonly info: {
    readonly idempotencyKey: string;
    readonly fence: bigint;
    readonly attempt: number;
    readonly signal: AbortSignal;
  };
}

export interface World extends Bendable {
  /** Milliseconds on this process's wall clock. For people to read; nothing is decided by it. */
  wallNow(): number;
  /** Milliseconds on a clock that never jumps. A node measures its own leases with it. */
  monotonicNow(): number;
  /** A number in [0, 1). */
  random(): number;
  /** 128 random bits as a UUID: claim tokens, incarnation ids. */
  token(): string;
  /** A time-ordered id (UUIDv7): run ids. */
  id(): string;
  /** Calls back once after `ms`, however long. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** One turn of the event loop: everything that is ready runs first. */
  turn(): Promise<void>;
  /** A named point at which a test may kill, stop or delay this process. Does nothing in production. */
  faultPoint(name: string): void | Promise<void>;
  /** Makes a call of user code. A test may watch or replace it. Absent: the call is made directly. */
  perform?<T>(call: UserCall, work: () => T): T;
  /** How this process fares since the last call. Absent: there is no process to measure. */
  fares?(): { readonly loopP99Ms: number; readonly rssBytes: number };
  /** A run is about to park on these calls; an id is read by `readCallId`. For tests. */
  parks?(runId: string, calls: Iterable<{ readonly id: string }>): void;
}

/** Waits `ms`; rejects with the signal's reason when it aborts first. */
export function sleep(world: World, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = world.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** What the work resolves to; null when it takes longer than `ms`, or when the signal aborts first. */
export async function within<T>(world: World, ms: number, work: Promise<T>, signal?: AbortSignal): Promise<T | null> {
  if (ms === Number.POSITIVE_INFINITY && !signal) return work;
  const answered = new AbortController();
  const ends = signal ? AbortSignal.any([signal, answered.signal]) : answered.signal;
  const late = sleep(world, ms, ends).then(
    () => null,
    () => null,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    answered.abort("answered");
  }
}
