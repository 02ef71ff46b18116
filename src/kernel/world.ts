// The one door to time, chance, timers and ids. Nothing else in src touches them, so the whole
// library runs in a simulator. The real world is in system-world.ts.

export interface World {
  /** Milliseconds on this process's wall clock. For people to read; it decides nothing. */
  wallNow(): number;
  /** Milliseconds on a clock that never jumps. Tells a node when its own lease is in doubt. */
  monotonicNow(): number;
  /** A number in [0, 1). */
  random(): number;
  /** 128 random bits as a UUID: claim tokens, incarnation ids. */
  token(): string;
  /** A time-ordered id (UUIDv7): run ids. */
  id(): string;
  /** Calls back once after `ms`, however long that is. Answers a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** Lets everything that is ready run first: one turn of the event loop. */
  turn(): Promise<void>;
  /** A named place where a test may kill, stop or delay this process. Does nothing in production. */
  faultPoint(name: string): void | Promise<void>;
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
