// The gate: one process at a time for each key; open without an adapter and for work without a key.

import { expect, test } from "vitest";
import { createGate } from "../../src/lease/gate.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";

test("of two owners one passes, and the other learns who holds the key", async () => {
  const claims = new FakeClaims();
  const [one, two] = [createGate({ claims, owner: "one" }), createGate({ claims, owner: "two" })];
  const answers = await one("key", async ({ fence }) => [fence?.epoch, await two("key", () => "worked")] as const);
  expect(answers).toMatchObject({ passed: true, value: [1n, { passed: false, owner: "one" }] });
  expect(await two("key", ({ fence }) => fence?.epoch)).toEqual({ passed: true, value: 2n });
});

test("without an adapter, and for work without a key, nothing is asked", async () => {
  const claims = new FakeClaims();
  claims.setBusy("key", "other");
  const open = createGate({ owner: "one" });
  expect(await open("key", ({ fence, signal, inDoubt }) => [fence, signal.aborted, inDoubt()])).toEqual({
    passed: true,
    value: [null, false, false],
  });
  expect(await createGate({ claims, owner: "one" })(null, () => "worked")).toEqual({ passed: true, value: "worked" });
  expect(await createGate({ claims: null, owner: "one" })("key", () => "worked")).toMatchObject({ passed: true });
});

test("work that throws fails its claim, and the next one is another attempt", async () => {
  const gate = createGate({ claims: new FakeClaims(), owner: "one", lease: "60s" });
  await expect(gate("key", () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  expect(await gate("key", ({ fence }) => fence?.epoch)).toEqual({ passed: true, value: 2n });
});

test("work that lost its key ends with the loss, whatever it returns", async () => {
  const claims = new FakeClaims();
  const gate = createGate({ claims, owner: "one", lease: 30 });
  const work = gate("key", async ({ signal }) => {
    claims.advance(60);
    await claims.acquire("key", "thief", { leaseMs: 60_000 });
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return "late";
  });
  await expect(work).rejects.toMatchObject({ code: "LEASE_LOST" });
});
