// The public face of `holdfast/testing`.

export { type CheckedStoreOptions, checkedStore } from "../store/checked-store.js";
export { type ClaimsCase, type ClaimsHarness, claimsConformance } from "./claims-conformance.js";
export type { ConformanceCase } from "./conformance/case.js";
export { ConformanceFailure } from "./conformance/expect.js";
export type { StoreHarness } from "./conformance/harness.js";
export { storeConformance } from "./conformance/index.js";
export { FakeClaims, type FakeClaimsOptions } from "./fake-claims.js";
export { type TimeoutsCase, type TimeoutsHarness, timeoutsConformance } from "./timeouts-conformance.js";
export { VirtualWorld, type VirtualWorldOptions } from "./virtual-world.js";
