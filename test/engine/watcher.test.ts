// The watcher polls for many waiters at once, rarely while nothing happens, and misses none of them.

import { describe, expect, test } from "vitest";
import { RunWatcher, runWatcher } from "../../src/client/run-watcher.js";
import { Watcher } from "../../src/engine/watcher.js";
import { createNode, workflow } from "../../src/index.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { claimFrom, commitOf, complete, newRuns } from "../store/scene.js";

interface Look {
  readonly at: number;
  readonly keys: readonly string[];
}

function scene(values: Map<string, number>, delayMs = 0) {
  const world = new VirtualWorld();
  const looks: Look[] = [];
  const failing = { with: null as Error | null };
  const watcher = new Watcher<number>({
    world,
    firstPauseMs: 20,
    look: async (keys) => {
      looks.push({ at: world.monotonicNow(), keys });
      const seen = keys.map((key) => values.get(key) ?? 0);
      if (delayMs > 0) await new Promise<void>((resolve) => world.after(delayMs, resolve));
      if (failing.with) throw failing.with;
      return seen;
    },
  });
  const until = (key: string, wanted: number) =>
    new Promise<number>((resolve, reject) => {
      const leave = watcher.watch(key, {
        onSeen: (seen) => {
          if (seen < wanted) return false;
          leave();
          resolve(world.monotonicNow());
          return true;
        },
        onFailed: (error) => {
          leave();
          reject(error);
        },
      });
    });
  return { world, looks, watcher, until, failing };
}

describe("the watcher", () => {
  test("polls at once for one waiter, then less and less often, and not at all when none is left", async () => {
    const values = new Map<string, number>();
    const { world, looks, until } = scene(values);
    const done = until("a", 1);
    await world.advance(5_000);
    const pauses = looks.slice(1).map(({ at }, i) => at - looks[i]!.at);
    expect(looks[0]!.at).toBe(0);
    expect(pauses.slice(0, 4)).toEqual([20, 30, 45, 67.5]);
    expect(Math.max(...pauses)).toBe(1_000);
    values.set("a", 1);
    await world.advance(1_000);
    await done;
    const count = looks.length;
    await world.advance(60_000);
    expect(looks.length).toBe(count);
  });

  test("polls thousands of keys with at most 20 statements a second, and 3 when nothing happens", async () => {
    const values = new Map<string, number>();
    const { world, looks, until } = scene(values);
    const ends: Promise<number>[] = [];
    // They arrive one after the other, so that each has a rhythm of its own.
    for (let i = 0; i < 1_500; i++) {
      ends.push(until(`k${i}`, 1));
      await world.advance(2);
    }
    const perSecond = (from: number) => looks.filter(({ at }) => at >= from && at < from + 1_000).length;
    for (const from of [0, 1_000, 2_000]) expect(perSecond(from)).toBeLessThanOrEqual(20);
    await world.advance(20_000);
    expect(perSecond(world.monotonicNow() - 1_500)).toBeLessThanOrEqual(3);
    const changedAt = world.monotonicNow();
    for (let i = 0; i < 1_500; i++) values.set(`k${i}`, 1);
    await world.advance(1_100);
    expect(Math.max(...(await Promise.all(ends))) - changedAt).toBeLessThanOrEqual(1_000);
  });

  test("polls every key when they do not fit into one statement", async () => {
    const values = new Map<string, number>();
    const { world, looks, until } = scene(values);
    const ends = Array.from({ length: 4_500 }, (_, i) => until(`k${i}`, 1));
    await world.advance(5_000);
    // The last one, while all before it keep waiting.
    values.set("k4499", 1);
    await world.advance(2_000);
    await ends[4_499];
    for (let i = 0; i < 4_500; i++) values.set(`k${i}`, 1);
    await world.advance(3_000);
    await Promise.all(ends);
    expect(Math.max(...looks.map(({ keys }) => keys.length))).toBe(2_000);
  });

  test("polls at once when this process has changed a key, and again when the change came during a poll", async () => {
    const values = new Map<string, number>();
    const { world, watcher, until } = scene(values, 5);
    const done = until("a", 1);
    await world.advance(10_000);
    watcher.wake("a");
    await world.advance(1);
    // The running poll has read the old value.
    values.set("a", 1);
    watcher.wake("a");
    const wokenAt = world.monotonicNow();
    await world.advance(2_000);
    expect((await done) - wokenAt).toBeLessThanOrEqual(10);
  });

  test("a failed poll rejects all its waiters, and the next waiter is served", async () => {
    const values = new Map([["b", 1]]);
    const { world, failing, until } = scene(values);
    failing.with = new Error("away");
    const ends = [until("a", 1), until("a", 1), until("c", 1)].map((end) => end.catch((error: Error) => error.message));
    await world.advance(10);
    expect(await Promise.all(ends)).toEqual(["away", "away", "away"]);
    failing.with = null;
    const next = until("b", 1);
    await world.advance(10);
    await next;
  });
});

function counting(store: Store, looks: { count: number }): Store {
  const glance: Store["runs"]["glance"] = (runIds) => {
    looks.count++;
    return store.runs.glance(runIds);
  };
  return { ...store, runs: { ...store.runs, glance } };
}

describe("waiting for runs", () => {
  const open = () => {
    const world = new VirtualWorld();
    const store = memoryStore({ world });
    return { world, store, watcher: new RunWatcher(store, world) };
  };

  test("is shared by all clients and nodes of a process that use the store", () => {
    const { store, world } = open();
    expect(runWatcher(store, world)).toBe(runWatcher(store, world));
    expect(runWatcher(store, systemWorld())).toBe(runWatcher(store, systemWorld()));
    expect(runWatcher(memoryStore({ world }), world)).not.toBe(runWatcher(store, world));
  });

  test("times out on time, polls at least once, and leaves no timer behind", async () => {
    const { world, store, watcher } = open();
    const [run] = newRuns(1);
    await store.runs.insert([run!]);
    const times: number[] = [];
    const wait = watcher.untilEnded(run!.id, 777).then((answer) => {
      times.push(world.monotonicNow());
      return answer;
    });
    await world.advance(3_000);
    expect(await wait).toEqual({ timedOut: true, misfits: null });
    expect(times).toEqual([777]);
    const [claim] = await claimFrom(store, run!.group);
    await store.runs.commit([commitOf(claim!, complete)]);
    const late = watcher.untilEnded(run!.id, 0);
    await world.advance(1);
    expect(await late).toMatchObject({ state: "completed" });
    expect(world.pendingTimers).toBe(0);
  });

  test("times out although the store does not answer, and rejects with the store's error", async () => {
    const { world, store } = open();
    const silent = { ...store, runs: { ...store.runs, glance: () => new Promise<never>(() => {}) } } as Store;
    const wait = new RunWatcher(silent, world).untilEnded(world.id(), 500);
    await world.advance(2_000);
    expect(await wait).toEqual({ timedOut: true, misfits: null });
    const away = { ...store, runs: { ...store.runs, glance: () => Promise.reject(new Error("away")) } } as Store;
    await expect(new RunWatcher(away, world).untilEnded(world.id(), 500)).rejects.toThrow("away");
    await expect(new RunWatcher(away, world).untilMoved(world.id(), 0, undefined)).rejects.toThrow("away");
    expect(world.pendingTimers).toBe(0);
  });

  test("a step that this process has written ends the wait for a step, and is no reason to poll for the end", async () => {
    const { world, store } = open();
    const looks = { count: 0 };
    const watcher = new RunWatcher(counting(store, looks), world);
    const [run] = newRuns(1);
    await store.runs.insert([run!]);
    const end = watcher.untilEnded(run!.id, Number.POSITIVE_INFINITY);
    await world.advance(0);
    expect(looks.count).toBe(1);
    const moved = watcher.untilMoved(run!.id, 0, undefined);
    watcher.moved(run!.id);
    expect(await moved).toBe("moved");
    const [claim] = await claimFrom(store, run!.group);
    await store.runs.commit([commitOf(claim!, complete)]);
    const before = looks.count;
    watcher.moved(run!.id);
    await world.advance(0);
    expect(looks.count).toBe(before);
    watcher.wake(run!.id);
    await world.advance(0);
    expect(await end).toMatchObject({ state: "completed" });
  });

  test("a caller in the node's own process does not poll for each step of the run", async () => {
    const looks = { count: 0 };
    const store = counting(memoryStore(), looks);
    const steps = workflow("steps", async (ctx) => {
      for (let i = 0; i < 200; i++) await ctx.step(`step${i}`, () => i);
    });
    await using node = await createNode({ store, programs: [steps] });
    await (await node.start(steps)).result();
    // By the clock alone: 20 polls take twelve seconds.
    expect(looks.count).toBeLessThan(20);
  });

  test("an unknown run, an aborted signal and a run that has ended at the cursor end the wait", async () => {
    const { world, store, watcher } = open();
    expect(await watcher.untilEnded(world.id(), Number.POSITIVE_INFINITY)).toBeNull();
    const [run] = newRuns(1);
    await store.runs.insert([run!]);
    const abort = new AbortController();
    const waiting = watcher.untilMoved(run!.id, 1, abort.signal);
    await world.advance(500);
    abort.abort();
    expect(await waiting).toBe("moved");
    expect(world.pendingTimers).toBe(0);
    await store.runs.cancel(run!.id, { by: "me" });
    expect(await watcher.untilMoved(run!.id, 2, undefined)).toBe("ended");
  });
});
