// How the store classifies a statement that was cancelled or timed out.

import { expect, test } from "vitest";
import { connectionSurvives, faultOf } from "../../src/store/postgres/connection/sqlstate.js";

test("a cancelled statement of the store may work in a moment, and its connection is still good", () => {
  const cancelled = Object.assign(new Error("canceling statement due to user request"), {
    code: "57014",
    routine: "ProcessInterrupts",
  });
  expect(faultOf(cancelled)).toBe("transient");
  expect(connectionSurvives(cancelled)).toBe(true);
});
