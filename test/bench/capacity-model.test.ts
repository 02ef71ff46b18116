// The model of capacity: costs per unit and per flush from measured points, and the resource that is used up first.

import { describe, expect, test } from "vitest";
import { coresIn } from "../../bench/capacity-cores.js";
import { check, fitModel, kneeOf, predict } from "../../bench/capacity-model.js";

/** A node of 40 µs per unit and 500 per flush; a server of 60 and 1,000; one process keeps one core and a half busy. */
const pointAt = (unitsPerFlush: number) => ({
  nodeUs: 40 + 500 / unitsPerFlush,
  serverUs: 60 + 1_000 / unitsPerFlush,
  unitsPerFlush,
  busyCores: 1.5,
});

describe("the model of capacity", () => {
  const model = fitModel([5, 25, 100, 250].map(pointAt));

  test("finds the cost per unit and per flush", () => {
    const node = { perUnit: 40, perFlush: 500 };
    expect(model).toEqual({ node, server: { perUnit: 60, perFlush: 1_000 }, coresPerProcess: 1.5 });
  });

  test("counts the whole cost per unit when all batches are alike", () => {
    const { nodeUs } = pointAt(100);
    expect(fitModel([pointAt(100), pointAt(100)]).node).toEqual({ perUnit: nodeUs, perFlush: 0 });
  });

  const enough = { cores: 2, processes: 8, flushesPerSecond: 1_000, unitsPerFlush: 150 };

  test.each([
    [enough, 2e6 / 110, "cores"],
    [{ ...enough, processes: 1 }, 1.5e6 / 110, "processes"],
    [{ ...enough, cores: 16, flushesPerSecond: 100 }, 15_000, "log flushes"],
  ])("predicts the rate by what is used up first: %j", (resources, perSecond, limit) => {
    expect(predict(model, resources)).toEqual({ perSecond, limit });
  });

  test.each([
    [10_000, 1, true],
    [14_200, 0.7, true],
    [14_500, 0.69, false],
    [7_000, 1.43, false],
  ])("judges a measured rate of %d by the ratio %d", (measured, ratio, ok) => {
    const resources = { ...enough, cores: 1.1 };
    expect(check(model, resources, measured)).toMatchObject({ predicted: 10_000, limit: "cores", ratio, ok });
  });

  test("has its knee at the first load with nearly the best rate", () => {
    expect(kneeOf([{ perSecond: 10 }, { perSecond: 91 }, { perSecond: 100 }, { perSecond: 95 }])).toEqual({
      perSecond: 91,
    });
  });
});

test("a list of cores is read as the system writes it", () => {
  expect([coresIn("0-1"), coresIn("3"), coresIn("0,2-4")]).toEqual([[0, 1], [3], [0, 2, 3, 4]]);
});
