// Exports of `holdfast/testing`: a node with time that skips, simulated faults, replay, conformance suites, and their errors.

export { type CheckedStoreOptions, checkedStore } from "../store/checked-store.js";
export { type ClaimsCase, type ClaimsHarness, claimsConformance } from "./claims-conformance.js";
export type { ConformanceCase } from "./conformance/case.js";
export { ConformanceFailure } from "./conformance/expect.js";
export type { StoreHarness } from "./conformance/harness.js";
export { storeConformance } from "./conformance/index.js";
export { FakeClaims, type FakeClaimsOptions } from "./fake-claims.js";
export type { TestStuck } from "./node/driver.js";
export type { Journal, JournalDiffers, JournalStep } from "./node/journal.js";
export type { ApprovalStub, StepStub, Stubs } from "./node/stubs.js";
export type { TestConnection, TestDatabase, TestDatabaseMissing, TestPool } from "./node/test-database.js";
export { type TestNode, type TestNodeOptions, type TestRun, testNode } from "./node/test-node.js";
export type { Histories, RunHistory } from "./replay/history.js";
export {
  type ReplayFailed,
  type ReplayOptions,
  type ReplayProblem,
  type ReplayReport,
  replay,
} from "./replay/replay.js";
export type { FaultKind, SimulatedCase, SimulatedFault } from "./simulate/case.js";
export type { Effects, RecordedEffect } from "./simulate/ledger.js";
export type { SimulationFailed, SimulationReport, Violation } from "./simulate/report.js";
export { type SimulateOptions, simulate } from "./simulate/simulate.js";
export type { ViolationKind } from "./simulate/violation.js";
export { type TimeoutsCase, type TimeoutsHarness, timeoutsConformance } from "./timeouts-conformance.js";
export { VirtualWorld, type VirtualWorldOptions } from "./virtual-world.js";
