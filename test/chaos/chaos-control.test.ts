// Controls of the chaos run: without faults no claim changes hands, and a missing fence is detected.

import { describe, expect, test } from "vitest";
import { doubled, lateBegins, type Recorded, wrongSagas } from "../../chaos/check.js";
import { exceeded, judgeWindows, timers } from "../../chaos/check-kinds.js";
import type { Mark } from "../../chaos/programs.js";
import { runChaos } from "./run-chaos.js";

test("calm: no claim is reclaimed", { timeout: 120_000 }, async () => {
  const { report, log } = await runChaos("--calm", "--seconds", "20", "--nodes", "5");
  expect(report, log).toMatchObject({ ok: true, takeovers: 0, stolenLiveLeases: 0, surprises: [] });
  expect(report.runs).toBeGreaterThan(50);
});

test("nodes whose presence connection is refused keep their claims, despite an impatient node of another env", {
  timeout: 120_000,
}, async () => {
  const { report, log } = await runChaos("--seconds", "12", "--nodes", "4", "--faults", "presenceRefused,foreignEnv");
  expect(report, log).toMatchObject({ ok: true, takeovers: 0, robbedLiveNodes: 0, surprises: [] });
});

test("commits without a fence are caught", { timeout: 120_000 }, async () => {
  const args = ["--mutant", "unfenced", "--seconds", "12", "--nodes", "4", "--faults", "pause"];
  const { report, code, log } = await runChaos(...args);
  expect(report.ok, log).toBe(false);
  expect(code).toBe(1);
  // The first write at a sequence is accepted: the late one, or the live one, after which the journal's key refuses the late one.
  const refused = report.surprises.filter((line) => /journal_pkey|is not a legal move/.test(line));
  expect(report.staleWrites + report.doubledEffects + refused.length, log).toBeGreaterThan(0);
});

describe("the effect log reports a doubled step when the step", () => {
  const step = { runId: "r", step: "pay", key: "1" };
  const recorded = (epoch: number, attempt: number): Recorded => {
    return { ...step, kind: "step", epoch, data: JSON.stringify({ epoch, attempt }) };
  };
  const begun = (epoch: number, attempt: number): Mark => ({ ...step, epoch, attempt, pid: 1 });

  test("has two results", () => {
    expect(doubled([recorded(1, 1), recorded(2, 1)], [])).toBe(1);
  });

  test("begins under a later claim than the one that recorded its result", () => {
    expect(doubled([recorded(1, 1)], [begun(1, 1), begun(2, 1)])).toBe(1);
  });

  test("is attempted again by the claim that recorded its result", () => {
    expect(doubled([recorded(1, 2)], [begun(1, 1), begun(1, 2), begun(1, 3)])).toBe(1);
  });

  test("is at-most-once and begins twice", () => {
    const send = (epoch: number) => ({ ...begun(epoch, 1), step: "send" });
    expect(doubled([], [send(1), send(2)])).toBe(1);
  });

  test("but not when an earlier holder began it and logged that late", () => {
    expect(doubled([recorded(2, 1)], [begun(2, 1), begun(1, 1)])).toBe(0);
  });
});

describe("a step began too late when its process", () => {
  const mark = { runId: "r", step: "pay", key: "1", epoch: 1, attempt: 1, pid: 7 };
  const grants = [
    { runId: "r", epoch: 1, at: 1_000 },
    { runId: "r", epoch: 2, at: 5_000 },
  ];

  test("was not frozen, and another process had been granted the run", () => {
    expect(lateBegins(grants, [{ ...mark, at: 6_000 }], [])).toBe(1);
    expect(lateBegins(grants, [{ ...mark, at: 6_000 }], [{ pid: 8, from: 0, until: 9_000 }])).toBe(1);
  });

  test("but not when it was frozen, held the claim, or began before", () => {
    expect(lateBegins(grants, [{ ...mark, at: 6_000 }], [{ pid: 7, from: 3_000, until: 5_900 }])).toBe(0);
    expect(lateBegins(grants, [{ ...mark, epoch: 2, at: 6_000 }], [])).toBe(0);
    expect(lateBegins(grants, [{ ...mark, at: 4_000 }], [])).toBe(0);
  });
});

describe("the checker of kinds reports", () => {
  test("a timer that is early or comes twice", () => {
    const fired = (at: number) => ({ instance: "i", name: "after 400ms in red", at });
    const start = { instance: "i", name: "start", at: 0 };
    expect(timers([start, fired(400)])).toEqual({ early: 0, doubled: 0 });
    expect(timers([start, fired(390)])).toEqual({ early: 1, doubled: 0 });
    expect(timers([start, fired(400), fired(900)])).toEqual({ early: 0, doubled: 1 });
  });

  test("windows that are missing, doubled or early", () => {
    const window = (s: number, at = s * 1_000) => ({ window: new Date(s * 1_000).toISOString(), at });
    expect(judgeWindows([1, 2, 3].map((s) => window(s)))).toEqual({ early: 0, lost: 0, doubled: 0 });
    expect(judgeWindows([1, 2, 4].map((s) => window(s)))).toEqual({ early: 0, lost: 1, doubled: 0 });
    expect(judgeWindows([1, 2, 2, 3].map((s) => window(s)))).toEqual({ early: 0, lost: 0, doubled: 1 });
    expect(judgeWindows([window(1), window(2, 1_900)])).toEqual({ early: 1, lost: 0, doubled: 0 });
  });

  test("more runs than a limit admits, also of one serial key", () => {
    const move = (runId: string, state: string, account = runId) => ({ runId, state, account });
    const three = ["a", "b", "c"].map((id) => move(id, "waiting"));
    expect(exceeded([...three, move("a", "completed"), move("d", "waiting")])).toBe(0);
    expect(exceeded([...three, move("d", "waiting")])).toBe(1);
    expect(exceeded([move("a", "parked", "x"), move("b", "waiting", "x")])).toBe(1);
    expect(exceeded([move("a", "held", "x"), move("b", "waiting", "x")])).toBe(0);
  });
});

describe("a cancelled trip is wrong when it", () => {
  const undo = (...parts: string[]) => parts.map((part) => `undo book ${part}`);
  const cancelled = (...steps: string[]) => wrongSagas([{ id: "t", state: "cancelled", steps }], new Map());

  test("leaves something done, undoes it twice or in another order", () => {
    expect(cancelled("book hotel", "book car", ...undo("hotel"))).toBe(1);
    expect(cancelled("book hotel", ...undo("hotel", "hotel"))).toBe(1);
    expect(cancelled("book hotel", "book car", ...undo("hotel", "car"))).toBe(1);
  });

  test("but not when it also undoes a step that had no result yet", () => {
    expect(cancelled("book hotel", ...undo("hotel"))).toBe(0);
    expect(cancelled("book hotel", ...undo("car", "hotel"))).toBe(0);
    expect(cancelled()).toBe(0);
  });

  test("completes although its cancel was acknowledged, or undoes without a cancel", () => {
    const completed = (steps: string[], sure: boolean) =>
      wrongSagas([{ id: "t", state: "completed", steps }], new Map([["t", sure]]));
    expect([completed([], true), completed(undo("hotel"), false), completed(["book hotel"], false)]).toEqual([1, 1, 0]);
  });
});
