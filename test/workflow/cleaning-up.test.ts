// The asynchronous context of a clean-up: its calls are known by it, and it costs nothing while no run cleans up.

import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, expect, test, vi } from "vitest";
import type { Replay } from "../../src/replay/replay.js";
import { cleanUp, isCleaningUp } from "../../src/workflow/cleaning-up.js";

afterEach(() => vi.restoreAllMocks());

function session() {
  let end = () => {};
  const replay = {
    onOver: (callback: () => void) => {
      end = callback;
    },
  } as unknown as Replay;
  return { replay, end: () => end() };
}

test("only what is called inside a clean-up belongs to it, and only in its own session", async () => {
  const [one, other] = [session(), session()];
  let afterwards = () => Promise.resolve(true);
  await cleanUp(one.replay, async () => {
    await null;
    expect(isCleaningUp(one.replay)).toBe(true);
    expect(isCleaningUp(other.replay)).toBe(false);
    const left = AsyncLocalStorage.snapshot();
    afterwards = async () => left(() => isCleaningUp(one.replay));
  });
  expect(isCleaningUp(one.replay)).toBe(false);
  // Also while another one is open: what a clean-up left behind depends on no other run.
  await cleanUp(other.replay, async () => expect(await afterwards()).toBe(false));
});

test("the context is switched off when the last clean-up has ended, also with an error or with its session", async () => {
  const disable = vi.spyOn(AsyncLocalStorage.prototype, "disable");
  const [one, other] = [session(), session()];
  let fail = (_error: Error) => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const failing = cleanUp(one.replay, () => failed);
  void cleanUp(other.replay, () => new Promise(() => {}));
  fail(new Error("no"));
  await expect(failing).rejects.toThrow("no");
  expect(disable).not.toHaveBeenCalled();
  // Its run was parked in the middle of it: the function itself never ends.
  other.end();
  expect(disable).toHaveBeenCalled();
});
