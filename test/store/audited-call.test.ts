// The context of an audited change: calls inside find its row, and it costs nothing while no change is under way.

import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, expect, test, vi } from "vitest";
import { type AuditedCall, auditedCall, inAuditedCall } from "../../src/store/audited-call.js";

afterEach(() => vi.restoreAllMocks());

const newCall = () => ({ row: {}, written: false }) as unknown as AuditedCall;

test("calls inside a change find its row until it is written, and others find none", async () => {
  const call = newCall();
  expect(auditedCall()).toBeNull();
  await inAuditedCall(call, async () => {
    await null;
    expect(auditedCall()).toBe(call);
    call.written = true;
    expect(auditedCall()).toBeNull();
  });
  expect(auditedCall()).toBeNull();
});

test("the context is switched off when the last change has ended, also one that failed", async () => {
  const disable = vi.spyOn(AsyncLocalStorage.prototype, "disable");
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const long = inAuditedCall(newCall(), () => ended);
  await expect(inAuditedCall(newCall(), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(disable).not.toHaveBeenCalled();
  end();
  await long;
  expect(disable).toHaveBeenCalledTimes(1);
});
