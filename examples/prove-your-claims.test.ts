// A unit test of code that takes leases: FakeClaims models ownership and expiry, no database needed.
import { createLeases } from "holdfast/lease";
import { FakeClaims } from "holdfast/testing";
import { expect, test } from "vitest";

test("the export is left to the node that holds its lease", async () => {
  const claims = new FakeClaims();
  claims.setBusy("nightly-export", "node-2");
  const lease = await createLeases({ claims, owner: "node-1" }).acquire("nightly-export", { for: "60s" });
  expect(lease).toMatchObject({ ok: false, owner: "node-2" });
});
