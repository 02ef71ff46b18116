// The service loop in virtual time: when its rounds begin, what wakes it, and that nothing but a stop ends it.

import { describe, expect, test } from "vitest";
import { Loop, type Pause, type RoundStart, STOP_GRACE_MS } from "../../src/kernel/loop.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

interface Scene {
  readonly round?: (at: number, start: RoundStart) => number | Pause | Promise<number | Pause>;
  readonly onError?: (error: unknown, failures: number) => number | Pause;
  readonly world?: VirtualWorld;
}

function scene({ round = () => 100, onError, world = new VirtualWorld() }: Scene = {}) {
  const rounds: number[] = [];
  const starts: RoundStart[] = [];
  const failures: string[] = [];
  const loop = new Loop({
    world,
    round: async (start) => {
      rounds.push(world.monotonicNow());
      starts.push(start);
      return round(world.monotonicNow(), start);
    },
    onError: (error, inARow) => {
      failures.push(`${(error as Error).message} ${inARow}`);
      return onError?.(error, inARow) ?? 50;
    },
  });
  return { world, loop, rounds, starts, failures };
}

const wait = (world: VirtualWorld, ms: number) => new Promise<void>((resolve) => world.after(ms, resolve));

describe("rounds", () => {
  test("the first begins before start returns, the next after the pause that it asked for", async () => {
    const { world, loop, rounds } = scene({ round: (at) => (at === 0 ? 30 : 100) });
    loop.start();
    expect(rounds).toEqual([0]);
    await world.advance(330);
    expect(rounds).toEqual([0, 30, 130, 230, 330]);
    await loop.stop();
  });

  test("a delayed start begins with a pause, and starting twice is starting once", async () => {
    const { world, loop, rounds } = scene();
    loop.start(40);
    loop.start();
    loop.wake(30);
    await world.advance(130);
    expect(rounds).toEqual([30, 130]);
    await loop.stop();
  });

  test("never overlap: the pause is counted from the end of a slow one", async () => {
    const world = new VirtualWorld();
    const { loop, rounds } = scene({ world, round: () => wait(world, 60).then(() => 40) });
    loop.start();
    await world.advance(270);
    expect(rounds).toEqual([0, 100, 200]);
    await loop.stop();
  });

  test("know how late they are, and whether they were woken", async () => {
    const { world, loop, starts } = scene();
    loop.start();
    await world.advance(0);
    world.block(170);
    await world.advance(0);
    loop.wake();
    await world.advance(0);
    expect(starts).toEqual([
      { isWoken: false, lateMs: 0 },
      { isWoken: false, lateMs: 70 },
      { isWoken: true, lateMs: -100 },
    ]);
    await loop.stop();
  });

  test("were woken also by a wake that comes when their pause is overdue", async () => {
    const { world, loop, starts } = scene();
    loop.start();
    await world.advance(0);
    world.block(170);
    loop.wake();
    await world.advance(0);
    expect(starts.slice(1)).toEqual([{ isWoken: true, lateMs: 70 }]);
    await loop.stop();
  });

  test("that return nothing leave the pause to the loop's own, also after an error", async () => {
    const world = new VirtualWorld();
    const rounds: number[] = [];
    const round = async () => {
      if (rounds.push(world.monotonicNow()) === 2) throw new TypeError("away");
    };
    const loop = new Loop({ world, round, onError: () => {}, pauseMs: () => 70 });
    loop.start();
    await world.advance(210);
    expect(rounds).toEqual([0, 70, 140, 210]);
    await loop.stop();
  });

  test("an endless pause sets no timer", async () => {
    const { world, loop, rounds } = scene({ round: () => Number.POSITIVE_INFINITY });
    loop.start();
    await world.advance(1_000_000);
    expect(world.pendingTimers).toBe(0);
    loop.wake();
    await world.settle();
    expect(rounds).toEqual([0, 1_000_000]);
    await loop.stop();
  });
});

describe("a wake", () => {
  test("ends the pause now or in some milliseconds, and the earliest of several counts", async () => {
    const { world, loop, rounds } = scene();
    loop.start();
    await world.advance(10);
    loop.wake(50);
    loop.wake(20);
    loop.wake(70);
    await world.advance(20);
    loop.wake();
    await world.advance(200);
    expect(rounds).toEqual([0, 30, 30, 130, 230]);
    await loop.stop();
  });

  test("never makes a pause longer", async () => {
    const { world, loop, rounds } = scene();
    loop.start();
    await world.advance(10);
    loop.wake(500);
    await world.advance(190);
    expect(rounds).toEqual([0, 100, 200]);
    await loop.stop();
  });

  test("during a round leads to another round, also one that is to come later", async () => {
    const { world, loop, rounds } = scene({ round: (at) => wait(world, 10).then(() => (at < 40 ? 1_000 : 5_000)) });
    loop.start();
    await world.advance(5);
    loop.wake();
    await world.advance(10);
    loop.wake(30);
    await world.advance(500);
    expect(rounds).toEqual([0, 10, 45]);
    await loop.stop();
  });

  test("for later is answered by a round that begins before", async () => {
    const { world, loop, rounds } = scene({ round: () => 1_000 });
    loop.start();
    loop.wake(60);
    expect(loop.isWoken).toBe(true);
    await world.advance(20);
    loop.wake();
    await world.advance(500);
    expect(rounds).toEqual([0, 20]);
    expect(loop.isWoken).toBe(false);
    await loop.stop();
  });

  test("does not shorten a pause below its minimum, and is not lost either", async () => {
    const { world, loop, rounds } = scene({ round: () => ({ ms: 1_000, atLeastMs: 50 }) });
    loop.start();
    await world.advance(10);
    loop.wake();
    await world.advance(80);
    expect(rounds).toEqual([0, 50]);
    await loop.stop();
  });

  test("does nothing to a loop that rests, except to begin its next round", async () => {
    const { world, loop, rounds } = scene();
    loop.start();
    await world.advance(10);
    loop.wake(20);
    loop.rest();
    expect(world.pendingTimers).toBe(0);
    await world.advance(1_000);
    expect(rounds).toEqual([0]);
    loop.wake(5);
    await world.advance(5);
    expect(rounds).toEqual([0, 1_015]);
    await loop.stop();
  });
});

describe("trouble", () => {
  test("is reported with its number in a row, and the loop continues after the pause that the handler asked for", async () => {
    const { world, loop, rounds, failures } = scene({
      round: (at) => {
        if (at < 350 && at !== 30) throw new TypeError("away");
        return 100;
      },
      onError: (_error, inARow) => 30 * inARow ** 2,
    });
    loop.start();
    await world.advance(300);
    expect(rounds).toEqual([0, 30, 130, 160, 280]);
    expect(failures).toEqual(["away 1", "away 1", "away 2", "away 3"]);
    await loop.stop();
  });

  test("in the handler, or in the world's timers, ends nothing", async () => {
    const world = new VirtualWorld();
    const after = world.after.bind(world);
    let broken = 3;
    world.after = (ms, callback) => {
      if (ms === 100 && broken-- > 0) throw new TypeError("no timers");
      return after(ms, callback);
    };
    const { loop, rounds, failures } = scene({
      world,
      onError: (_error, inARow) => {
        if (inARow === 2) throw new TypeError("no handler");
        return 100;
      },
    });
    loop.start();
    await world.advance(5_000);
    expect(failures).toEqual(["no timers 1", "no timers 2", "no timers 1"]);
    expect(rounds.length).toBeGreaterThan(30);
    await loop.stop();
  });
});

describe("a stop", () => {
  test("ends the pause at once and begins no more rounds", async () => {
    const { world, loop, rounds } = scene();
    loop.start();
    await world.advance(10);
    await loop.stop();
    expect(world.pendingTimers).toBe(0);
    loop.wake();
    await world.advance(1_000);
    expect(rounds).toEqual([0]);
  });

  test("also ends a pause that has a minimum", async () => {
    const { world, loop } = scene({ round: () => ({ ms: 1_000, atLeastMs: 1_000 }) });
    loop.start();
    await world.advance(10);
    await loop.stop();
    expect(world.monotonicNow()).toBe(10);
    expect(world.pendingTimers).toBe(0);
  });

  test("waits for the round under way, for its grace at most, and aborts its signal", async () => {
    const quick = scene({ round: () => wait(quick.world, 300).then(() => 0) });
    quick.loop.start();
    let stoppedAt = -1;
    void quick.loop.stop().then(() => {
      stoppedAt = quick.world.monotonicNow();
    });
    expect(quick.loop.signal.aborted).toBe(true);
    await quick.world.advance(1_000);
    expect(stoppedAt).toBe(300);

    const hung = scene({ round: () => new Promise<number>(() => {}) });
    hung.loop.start();
    void hung.loop.stop().then(() => {
      stoppedAt = hung.world.monotonicNow();
    });
    await hung.world.advance(10_000);
    expect(stoppedAt).toBe(STOP_GRACE_MS);
  });

  test("before the start: there is no first round", async () => {
    const { loop, rounds } = scene();
    await loop.stop();
    loop.start();
    await loop.stop();
    expect(rounds).toEqual([]);
  });
});
