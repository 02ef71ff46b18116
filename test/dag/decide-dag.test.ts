// The decision on a DAG's run, given the states of its tasks.

import { expect, test } from "vitest";
import { type DagFacts, decideDag } from "../../src/dag/decide-dag.js";
import type { OwnTask } from "../../src/dag/supervise.js";
import { decodeError } from "../../src/kernel/codec/recorded-error.js";

const of = (name: string, how: "open" | "succeeded" | "failed" | "skipped" | "cancelled"): OwnTask => {
  const error = decodeError({ name: "Error", message: how });
  const outcomes = {
    open: null,
    succeeded: { state: "succeeded", value: 1 },
    failed: { state: "failed", error },
    cancelled: { state: "failed", error },
    skipped: { state: "skipped" },
  } as const;
  return { name, runId: name, outcome: outcomes[how], cancelled: how === "cancelled" };
};
const decide = (tasks: readonly OwnTask[], more: Partial<DagFacts> = {}) =>
  decideDag({ tasks, cancelled: false, overdue: false, onFailure: "finish", ...more });

test("it waits while a task is open, whatever the other tasks did", () => {
  expect(decide([of("a", "succeeded"), of("b", "open")])).toEqual({ kind: "wait" });
  expect(decide([of("a", "failed"), of("b", "open")])).toEqual({ kind: "wait" });
});

test("it cancels open tasks when it is cancelled, timed out, or a task failed under onFailure: cancel", () => {
  const open = [of("a", "failed"), of("b", "open")];
  expect(decide(open, { cancelled: true }).kind).toBe("cancelTasks");
  expect(decide(open, { overdue: true }).kind).toBe("cancelTasks");
  expect(decide(open, { onFailure: "cancel" })).toEqual({ kind: "cancelTasks", because: "a failed" });
  expect(decide([of("a", "skipped"), of("b", "open")], { onFailure: "cancel" }).kind).toBe("wait");
});

test("it succeeds when nothing failed, also just in time", () => {
  expect(decide([of("a", "succeeded"), of("b", "skipped")]).kind).toBe("completed");
  expect(decide([of("a", "succeeded")], { overdue: true }).kind).toBe("completed");
});

test("a cancel wins over everything that ended", () => {
  expect(decide([of("a", "failed"), of("b", "succeeded")], { cancelled: true }).kind).toBe("cancelled");
});

test("it fails with the causes, not with the tasks cancelled because of them", () => {
  const failed = decide([of("a", "failed"), of("b", "cancelled")], { onFailure: "cancel" });
  expect(failed).toMatchObject({ kind: "failed", failed: [{ name: "a" }] });
  expect(decide([of("a", "cancelled")])).toMatchObject({ kind: "failed", failed: [{ name: "a" }] });
});

test("a timeout is reported as such, unless a task had failed before", () => {
  expect(decide([of("a", "cancelled"), of("b", "succeeded")], { overdue: true }).kind).toBe("timeout");
  expect(decide([of("a", "cancelled"), of("b", "failed")], { overdue: true })).toMatchObject({
    kind: "failed",
    failed: [{ name: "b" }],
  });
});
