// The checkers are able to fail: what must never happen (S) is made to happen by hand, and noticed under its own name. A true
// history is not. What must happen in time (L) has files of its own: liveness.test.ts, fairness.test.ts.

import { expect, test } from "vitest";
import { checkTables } from "../../src/simulator/check/tables.js";
import { LIES } from "./broken-histories.js";
import { Scene } from "./checkers-scene.js";
import { TRUE } from "./true-histories.js";

test.for(TRUE)("%s breaks nothing", async ([, story]) => {
  const s = new Scene();
  await story(s);
  checkTables(s.history);
  expect(s.history.violations).toEqual([]);
});

test.for(LIES)("%s is broken by %s", async ([invariant, , story]) => {
  const s = new Scene();
  await story(s);
  checkTables(s.history);
  expect(s.broken).toContain(invariant);
});
