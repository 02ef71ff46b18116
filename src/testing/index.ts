// The public face of `holdfast/testing`.

export type { ConformanceCase } from "./conformance/case.js";
export { ConformanceFailure } from "./conformance/expect.js";
export type { StoreHarness } from "./conformance/harness.js";
export { storeConformance } from "./conformance/index.js";
