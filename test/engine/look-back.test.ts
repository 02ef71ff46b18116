// How far back a look for work goes while looks are slow.

import { expect, test } from "vitest";
import { LookBack } from "../../src/engine/claiming/look-back.js";
import type { World } from "../../src/kernel/world.js";

function lookBack() {
  let now = 0;
  const back = new LookBack({ monotonicNow: () => now } as World);
  return {
    back,
    pass: (ms: number) => {
      now += ms;
    },
    /** One look that takes this long. */
    look: (tookMs: number, isFull = false) => {
      const { recentMs } = back;
      const sentAt = now;
      now += tookMs;
      back.looked(sentAt, recentMs, isFull);
      return recentMs;
    },
  };
}

test("looks go back to the beginning as long as they are fast", () => {
  const { look } = lookBack();
  expect([look(2), look(3), look(10)]).toEqual([null, null, null]);
});

test("after a slow look the next ones go back to it and five seconds further, for five times as long as it took", () => {
  const { back, look, pass } = lookBack();
  look(40);
  expect(look(1)).toBe(5_040);
  expect(back.wholeInMs).toBe(200 - 41);
  pass(158);
  expect(look(1)).toBe(5_199);
  expect(back.wholeInMs).toBe(0);
  expect(look(3)).toBe(null);
  expect(back.wholeInMs).toBe(Number.POSITIVE_INFINITY);
  expect(look(3)).toBe(null);
});

test("a slow look that found as much as it asked for says nothing of what it left", () => {
  const { look } = lookBack();
  look(40, true);
  expect(look(40)).toBe(null);
  expect(look(1)).toBe(5_040);
});

test("where a short look takes as long as a whole one, none is tried for a minute", () => {
  const { back, look, pass } = lookBack();
  look(40);
  expect(look(30)).toBe(5_040);
  expect(back.wholeInMs).toBe(130);
  expect(look(40)).toBe(null);
  pass(59_000);
  look(40);
  expect(look(40)).toBe(null);
  pass(1_000);
  look(40);
  expect(look(1)).toBe(5_040);
});

test("a whole look follows within a second, however slow the last one was", () => {
  const { back, look } = lookBack();
  look(900);
  expect(look(10)).toBe(5_900);
  expect(back.wholeInMs).toBe(90);
  look(100);
  expect(look(5_000)).toBe(null);
  expect(look(1)).toBe(null);
});
