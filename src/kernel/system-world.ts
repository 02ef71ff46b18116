// The real world: this process's clocks, timers and random bits.

import { randomBytes, randomUUID } from "node:crypto";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { uuidv7 } from "./id.js";
import type { World } from "./world.js";

/** setTimeout takes 31 bits; a longer delay would fire after 1 ms. A long wait therefore consists of shorter ones. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
/** How often the delay of the event loop is sampled; a delay is what exceeds it. */
const LOOP_SAMPLE_MS = 20;

/** One per process: its ids are ordered, and callers that wait on the same store share one watcher. */
const world = newWorld();

export function systemWorld(): World {
  return world;
}

function newWorld(): World {
  const nextId = uuidv7(
    () => Date.now(),
    (size) => randomBytes(size),
  );
  /** All that wait for the next turn share one: with hundreds of runs, each had four immediates per step. */
  let turning: Promise<void> | null = null;
  /** Only in a process that asks: it costs a timer. */
  let delays: IntervalHistogram | null = null;
  return {
    wallNow: () => Date.now(),
    monotonicNow: () => performance.now(),
    random: () => Math.random(),
    token: () => randomUUID(),
    id: nextId,
    after(ms, callback) {
      const dueAt = performance.now() + ms;
      let timer: NodeJS.Timeout;
      const arm = () => {
        const left = dueAt - performance.now();
        timer = setTimeout(left > LONGEST_TIMEOUT_MS ? arm : callback, Math.min(Math.max(left, 0), LONGEST_TIMEOUT_MS));
      };
      arm();
      return () => clearTimeout(timer);
    },
    turn: () => {
      turning ??= new Promise((resolve) => {
        setImmediate(() => {
          turning = null;
          resolve();
        });
      });
      return turning;
    },
    faultPoint() {},
    fares() {
      const p99Ms = delays === null || delays.count === 0 ? 0 : delays.percentile(99) / 1e6 - LOOP_SAMPLE_MS;
      if (delays) delays.reset();
      else {
        delays = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
        delays.enable();
      }
      return { loopP99Ms: Math.round(Math.max(p99Ms, 0) * 10) / 10, rssBytes: process.memoryUsage.rss() };
    },
  };
}
