// Which windows make runs after an absence, under each policy.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type CatchUp, decideFires, MISSED_AFTER_MS } from "../../src/trigger/decide-fires.js";
import { cronWindows, intervalWindows } from "../../src/trigger/windows.js";

const MINUTE = 60_000;
const at = (text: string) => Date.parse(`2026-01-01T${text}Z`);
const everyMinute = cronWindows("* * * * *", "UTC");
const due = (catchUp: CatchUp, last: string, now: string, limit = 100) =>
  decideFires(everyMinute, { last: at(last), now: at(now), catchUp, limit });

test("a window that has just come is due under every policy, once", () => {
  for (const catchUp of ["none", "last", "all"] as const) {
    const fires = due(catchUp, "10:00:00", "10:01:00.250");
    expect(fires).toEqual({ windows: [at("10:01:00")], last: at("10:01:00"), next: at("10:02:00"), skipped: false });
    expect(decideFires(everyMinute, { last: fires.last, now: at("10:01:30"), catchUp, limit: 100 }).windows).toEqual(
      [],
    );
  }
});

test("before its next window a schedule does nothing, and returns when it is due", () => {
  expect(due("all", "10:00:00", "10:00:59.999")).toEqual({
    windows: [],
    last: at("10:00:00"),
    next: at("10:01:00"),
    skipped: false,
  });
});

test("after ten minutes down: none skips all windows, last catches up one, all catches up each", () => {
  expect(due("last", "10:00:00", "10:10:30")).toMatchObject({ windows: [at("10:10:00")], skipped: true });
  expect(due("all", "10:00:00", "10:10:30").windows).toHaveLength(10);
  const hourly = cronWindows("0 * * * *", "UTC");
  const away = { last: at("08:00:00"), now: at("10:10:00"), limit: 100 };
  expect(decideFires(hourly, { ...away, catchUp: "none" })).toEqual({
    windows: [],
    last: at("10:00:00"),
    next: at("11:00:00"),
    skipped: true,
  });
  expect(decideFires(hourly, { ...away, catchUp: "last" }).windows).toEqual([at("10:00:00")]);
  expect(decideFires(hourly, { ...away, catchUp: "all" }).windows).toEqual([at("09:00:00"), at("10:00:00")]);
});

test("none still fires a window that is late by less than a takeover takes", () => {
  const hourly = cronWindows("0 * * * *", "UTC");
  const late = (ms: number) =>
    decideFires(hourly, { last: at("09:00:00"), now: at("10:00:00") + ms, catchUp: "none", limit: 1 }).windows;
  expect(late(MISSED_AFTER_MS)).toEqual([at("10:00:00")]);
  expect(late(MISSED_AFTER_MS + 1)).toEqual([]);
});

test("catch-up is bounded: a batch per round, the rest right after it, none twice", () => {
  const seconds = intervalWindows(1000, 0);
  let last = 0;
  const fired: number[] = [];
  for (let round = 0; round < 10; round++) {
    const fires = decideFires(seconds, { last, now: 25_500, catchUp: "all", limit: 10 });
    expect(fires.windows.length).toBeLessThanOrEqual(10);
    fired.push(...fires.windows);
    last = fires.last;
  }
  expect(fired).toEqual(Array.from({ length: 25 }, (_, i) => (i + 1) * 1000));
});

test("a year down costs a node no more than a minute, unless every window is caught up", () => {
  const year = 365 * 24 * 60 * MINUTE;
  const before = performance.now();
  const fires = decideFires(everyMinute, {
    last: at("10:00:00"),
    now: at("10:00:00") + year,
    catchUp: "last",
    limit: 1,
  });
  expect(fires.windows).toEqual([at("10:00:00") + year]);
  expect(performance.now() - before).toBeLessThan(500);
});

test("however the time is cut into rounds, every window is decided on exactly once", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 500, max: 5000 }),
      fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 20 }),
      fc.constantFrom<CatchUp>("none", "last", "all"),
      (every, pauses, catchUp) => {
        const windows = intervalWindows(every, 0);
        let [last, now] = [0, 0];
        const fired: number[] = [];
        for (const pause of pauses) {
          now += pause;
          const fires = decideFires(windows, { last, now, catchUp, limit: 3 });
          fired.push(...fires.windows);
          expect(fires.last).toBeGreaterThanOrEqual(last);
          expect(fires.next).toBe(windows.next(fires.last));
          last = fires.last;
        }
        expect(new Set(fired).size).toBe(fired.length);
        expect(fired).toEqual([...fired].sort((a, b) => a - b));
        expect(fired.every((window) => window <= now && window % every === 0)).toBe(true);
      },
    ),
  );
});
