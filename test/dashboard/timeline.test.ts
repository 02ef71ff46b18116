// The timeline as data: journal entries as rows of bars, folded where there are many.

import { describe, expect, test } from "vitest";
import { barBoxes, ROW_HEIGHT } from "../../dashboard/src/draw/boxes.js";
import { ticksOf, timeAxis, xOf } from "../../dashboard/src/draw/time-axis.js";
import { type TimelineInput, timelineRows } from "../../dashboard/src/draw/timeline.js";
import { holeIn, merged } from "../../dashboard/src/live/journal-parts.js";
import type { Claim, Entry } from "../../dashboard/src/live/model.js";

const at = (seconds: number) => new Date(seconds * 1_000).toISOString();

function entry(seq: number, kind: string, seconds: number, more: Partial<Entry> = {}): Entry {
  return { seq, epoch: 1, kind, name: "charge", key: "1", at: at(seconds), bytes: null, codec: null, ...more };
}

const held: Claim = {
  epoch: 1,
  holder: null,
  from: at(1),
  to: at(9),
  begins: null,
  heard: null,
  entries: 3,
  ended: "held",
  reclaimed: null,
};
const rows = (entries: readonly Entry[], more: Partial<TimelineInput> = {}) =>
  timelineRows({ entries, claims: [held], now: 20_000, running: true, ...more });
const bars = (entries: readonly Entry[], more: Partial<TimelineInput> = {}) =>
  rows(entries, more).map(({ label, bars: all }) => [
    label,
    ...all.map(({ kind, from, to }) => [kind, from / 1_000, to / 1_000]),
  ]);

describe("the timeline", () => {
  test("begins a step where the entry before it was written", () => {
    expect(
      bars([entry(1, "start", 0, { epoch: 0 }), entry(2, "step", 3, { name: "pack" }), entry(3, "step", 5)]),
    ).toEqual([
      ["pack", ["done", 1, 3]],
      ["charge", ["done", 3, 5]],
    ]);
  });

  test("says how long the first step of a claim took at most, and draws steps that ended together from one begin", () => {
    const claim = { ...held, from: at(3) };
    const start = entry(1, "start", 0, { epoch: 0 });
    const shown = rows(
      [start, entry(2, "step", 3), entry(3, "step", 5, { name: "a" }), entry(4, "step", 5, { name: "b" })],
      {
        claims: [claim],
      },
    );
    expect(shown.map(({ bars: [bar] }) => [bar?.from, bar?.to, bar?.upTo === true])).toEqual([
      [0, 3_000, true],
      [3_000, 5_000, false],
      [3_000, 5_000, false],
    ]);
    expect(barBoxes(shown, timeAxis([0, 20_000], 1_020))[0]?.text).toBe("≤ 3.0 s");
  });

  test("draws the items of a fan-out from the entry before them", () => {
    const item = (seq: number, seconds: number) => entry(seq, "item", seconds, { name: "search", key: String(seq) });
    const shown = rows([entry(2, "node", 2, { name: "plan" }), item(3, 4), item(4, 4), item(5, 6)]);
    expect(shown.slice(1).map(({ bars: [bar] }) => [bar?.from, bar?.to])).toEqual([
      [2_000, 4_000],
      [2_000, 4_000],
      [2_000, 6_000],
    ]);
  });

  test("keeps failed attempts and the result of a step on one row", () => {
    expect(bars([entry(2, "step.tried", 3), entry(3, "step.tried", 5), entry(4, "step", 6)])).toEqual([
      ["charge", ["tried", 1, 3], ["tried", 3, 5], ["done", 5, 6]],
    ]);
  });

  test("shows what a lost node was doing as cut off", () => {
    const lost: Claim = {
      ...held,
      ended: "reclaimed",
      to: at(4),
      reclaimed: { at: at(6), by: null, outcome: "waiting", refused: 0 },
    };
    const next: Claim = { ...held, epoch: 2, from: at(7) };
    const shown = bars([entry(2, "step", 4, { name: "pack" }), entry(3, "step", 9, { epoch: 2 })], {
      claims: [lost, next],
    });
    expect(shown).toEqual([
      ["pack", ["done", 1, 4]],
      ["charge", ["cut", 4, 6], ["done", 7, 9]],
    ]);
  });

  test("draws waits from their begin to their end, and open ones until now", () => {
    const entries = [
      entry(2, "wait.begun", 3, { name: "paid" }),
      entry(3, "take", 8, { name: "paid", key: "signal:1" }),
      entry(4, "approval.begun", 9, { name: "ship?" }),
    ];
    expect(bars(entries)).toEqual([
      ["paid", ["wait", 3, 8]],
      ["ship?", ["wait", 9, 20]],
    ]);
  });

  test("ends a child's wait when the child's message is read", () => {
    const entries = [
      entry(2, "enqueue", 3, { name: "mail", key: "c-1" }),
      entry(3, "take", 8, { name: "", key: "child:c-1" }),
    ];
    expect(bars(entries)).toEqual([["mail", ["wait", 3, 8]]]);
  });

  test("ends a task where its own run ended", () => {
    const entries = [entry(2, "enqueue", 3, { name: "clean", key: "t-1" })];
    expect(bars(entries, { childEnds: new Map([["t-1", 6_000]]) })).toEqual([["clean", ["wait", 3, 6]]]);
  });

  test("folds many calls of one name, and never a failure", () => {
    const many = Array.from({ length: 40 }, (_, i) =>
      entry(i + 2, i === 7 ? "step.failed" : "step", i + 2, { key: String(i) }),
    );
    const [row, ...others] = rows(many);
    expect(others).toEqual([]);
    expect(row?.fold).toEqual({ calls: 40, done: 39, tried: 0, failed: 1 });
    expect(row?.bars.map(({ kind, seq }) => [kind, seq])).toEqual([
      ["done", 41],
      ["failed", 9],
    ]);
  });

  test("draws twenty thousand entries in a few rows", () => {
    const many = Array.from({ length: 20_000 }, (_, i) => entry(i + 2, "step", 2 + i / 1_000, { key: String(i) }));
    expect(barBoxes(rows(many), timeAxis([0, 30_000], 900))).toHaveLength(1);
  });

  test("places each bar on its row and inside the axis", () => {
    const axis = timeAxis([0, 20_000], 1_020);
    const boxes = barBoxes(rows([entry(2, "step", 3, { name: "pack" }), entry(3, "step", 5)]), axis);
    expect(boxes.map(({ x, y, width }) => [x, y, width])).toEqual([
      [50, 0, 100],
      [150, ROW_HEIGHT, 100],
    ]);
  });
});

describe("the time axis", () => {
  test("has ticks at round times within its width", () => {
    const ticks = ticksOf(timeAxis([10_000, 70_000], 660));
    expect(ticks.map(({ text }) => text)).toEqual(["00:00:15", ":30", ":45", "00:01:00"]);
  });

  test("writes a text in front of its line where there is no room behind it", () => {
    const ticks = ticksOf(timeAxis([10_000, 62_500], 660));
    expect(ticks.map(({ anchor }) => anchor)).toEqual(["start", "start", "start", "start", "start", "end"]);
    expect(ticks.at(-1)).toMatchObject({ text: "00:01:00" });
  });

  test("is never without length", () => {
    for (const instants of [[], [5], [5, 5]]) expect(xOf(timeAxis(instants, 100), 5)).toBeGreaterThanOrEqual(0);
  });
});

describe("a journal that is read in parts", () => {
  test("knows how many entries are missing, until they are read", () => {
    const ends = merged([entry(1, "start", 0), entry(2, "step", 1)], [entry(9, "step", 9)]);
    expect(holeIn(ends)).toEqual({ after: 2, missing: 6 });
    const whole = merged(
      ends,
      Array.from({ length: 8 }, (_, i) => entry(i + 2, "step", i + 2)),
    );
    expect(holeIn(whole)).toBeNull();
    expect(whole.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});
