// Which test files mostly wait, and which of the others take longest or can share a process: the runner's order depends on it.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { codeOf, filesOf } from "./test-names.js";

const ROOT = join(import.meta.dirname, "../..");

/** They sleep and poll most of their time: several of them fill one core. Longest first, and the two chaos runs not at once. */
export const WAITING: readonly string[] = [
  "chaos/chaos",
  "scenarios/recovery-time",
  "engine/locked-rows",
  "engine/outage",
  "chaos/chaos-control",
  "scenarios/refusals",
  "faults/disk-full",
  "faults/server",
  "faults/process",
  "workflow/store-trouble",
  "client/signals",
  "workflow/transaction-session",
  "scenarios/poison",
  "engine/ownership",
  "engine/stop-requests",
  "scenarios/moved-name",
  "engine/sleepers",
  "faults/load",
  "faults/upgrade",
  "engine/reclaimer",
  "modes/deploy",
  "workflow/generations",
  "scenarios/failover",
  "engine/schedules",
  "timeout/processes",
  "machine/crash",
  "scenarios/partition",
  "engine/shutdown",
  "scenarios/shop",
  "graph/recovery",
  "client/waiters",
  "modes/rolling",
  "workflow/transaction",
  "admin/live",
  "scenarios/fair-share",
  "actor/recovery",
  "modes/work-claims",
  "embedded/crash",
  "client/schedules",
  "engine/attend",
  "trigger/emit-processes",
  "workflow/takeover",
  "soak/soak",
  "orm/orms",
].map((name) => `test/${name}.test.ts`);

/** Of the files that keep a core busy, the longest: one that starts last keeps the whole run waiting. Longest first. */
export const LONG: readonly string[] = [
  "store/differential/differential",
  "store/planner/planner",
  "store/planner/planner-large",
  "simulator/mixed",
  "simulator/more-mixed",
  "store/unanswered/unanswered-commit",
  "dashboard/browser",
  "bench/bench",
  "simulator/first-seeds",
  "docs",
  "conformance/pgbouncer",
].map((name) => `test/${name}.test.ts`);

/** Starts a process or a server, or changes what all files of a process share: timers, variables, handlers, global names. */
const OWN_PROCESS =
  /"node:child_process"|src\/embedded\/|\bvi\.|process\.(on|once|kill|chdir|exit)\b|process\.env\[.*\] = |delete process\.env|playwright|globalThis\.|sdk-node/;
/** Opens a database, or asks for that of all tests. */
const DATABASE = /\binject\(|store\/postgres\/(open|index)\.js|from "pg"/;

const reaches = (file: string, what: RegExp) => [...filesOf(file)].some((name) => what.test(codeOf(name)));

/** Neither the file nor what it imports from test/ needs a process for itself: such files can share one. */
export const canShare = (file: string): boolean => !reaches(file, OWN_PROCESS);
/** It does not open a database, either. */
export const isPure = (file: string): boolean => canShare(file) && !reaches(file, DATABASE);

export const ALL: readonly string[] = ["test", "examples"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `${folder}/${name}`),
);
