// The doctor's judgement, without a database: each fault has a finding with what to do, a sound server has none.

import { expect, test } from "vitest";
import { examineServer, examineWork } from "../../src/client/doctor.js";
import type { NodeRecord } from "../../src/store/contract/node/nodes.js";
import type { ServerReport } from "../../src/store/contract/server-report.js";

const SOUND: ServerReport = {
  version: 150_004,
  versionText: "15.4",
  pooled: false,
  roundTripMs: 1,
  clockSkewMs: 3,
  package: "0.1.0",
  synchronousCommit: "on",
  isReplica: false,
  schemaProblem: null,
  invalidIndexes: [],
  oldestSnapshotMs: 100,
  connections: { used: 10, most: 100 },
  tables: [{ table: "runs", live: 100_000, dead: 5_000, bytes: 1 }],
  abilities: [{ name: "row locks", is: "works", text: "yes" }],
};

const faults = (more: Partial<ServerReport>, leases: readonly number[] = [15_000]) =>
  examineServer({ ...SOUND, ...more }, leases)
    .filter(({ level }) => level !== "ok")
    .map(({ check, level, remedy }) => [check, level, remedy !== null]);

test("a sound server has no fault", () => {
  expect(faults({})).toEqual([]);
});

test.each([
  ["version", "problem", { version: 130_000 }],
  ["replica", "problem", { isReplica: true }],
  ["synchronous_commit", "problem", { synchronousCommit: "off" }],
  ["clock", "warning", { clockSkewMs: -900 }],
  ["pooler", "warning", { pooled: true }],
  ["schema", "problem", { schemaProblem: "too old" }],
  ["schema", "problem", { invalidIndexes: ["runs_ended"] }],
  ["bloat", "warning", { tables: [{ table: "runs", live: 10, dead: 20_000, bytes: 1 }] }],
  ["oldest transaction", "warning", { oldestSnapshotMs: 3_600_000 }],
  ["connections", "warning", { connections: { used: 99, most: 100 } }],
  ["lease", "warning", { roundTripMs: 400 }],
  ["advisory locks", "warning", { abilities: [{ name: "advisory locks", is: "falls back", text: "no" }] }],
  ["row locks", "problem", { abilities: [{ name: "row locks", is: "missing", text: "no" }] }],
] as const)("%s: %s", (check, level, more) => {
  expect(faults(more)).toEqual([[check, level, true]]);
});

test("silent nodes, and waiting runs that no live node claims", () => {
  const node = { name: "a", alive: false, stoppedAt: null, holds: 3, claims: [] } as unknown as NodeRecord;
  const queue = { queue: "q", counts: { waiting: 4 }, oldestWaitingMs: 1, paused: null };
  const found = examineWork([node], [queue]).map(({ check, level }) => [check, level]);
  expect(found).toEqual([
    ["nodes", "warning"],
    ["queues", "problem"],
  ]);
  const alive = { ...node, alive: true, claims: [{ queue: "q" }] } as unknown as NodeRecord;
  expect(examineWork([alive], [queue]).every(({ level }) => level === "ok")).toBe(true);
});

test("an incarnation that was killed and followed by another is no fault once it holds nothing", () => {
  const dead = {
    name: "a",
    identity: "a",
    alive: false,
    stoppedAt: null,
    holds: 0,
    claims: [],
  } as unknown as NodeRecord;
  const next = { ...dead, alive: true } as NodeRecord;
  const levels = (nodes: readonly NodeRecord[]) => examineWork(nodes, []).map(({ level }) => level);
  expect(levels([dead])).toContain("warning");
  expect(levels([dead, next])).not.toContain("warning");
  expect(levels([{ ...dead, holds: 1 }, next])).toContain("warning");
});
