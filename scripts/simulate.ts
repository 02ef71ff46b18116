// `npm run simulate -- --seeds N | --minutes N [--seed S] [--mixed | --events | --dags | --actors | --poison | --rolling] [--marks] [--bail]
// [--json]`: the real engine under seeded faults, checked independently. `--mixed`: all kinds of work at once instead of scripts;
// `--events`: triggers; `--dags`: DAGs; `--actors`: episodes; `--poison`: runs that kill their process; `--rolling`: nodes with two
// versions of the code. `--marks`: fails when something that must happen in all seeds together did not happen. `--minutes N`: as many
// seeds as fit, from a first one of this moment unless `--seed` is given.
// A failing seed is printed with the command that replays it; `--seed S` alone prints that seed's trace. With --json also
// `--hashes`: the hash of each seed's trace.

import { setImmediate } from "node:timers/promises";
import { missingMarks } from "../src/simulator/marks.js";
import { type SimulateOptions, simulate, type Verdict } from "../src/simulator/simulate.js";
import { ActorWorkload } from "../src/simulator/workload/actor-workload.js";
import { DagWorkload } from "../src/simulator/workload/dag-workload.js";
import { EventWorkload } from "../src/simulator/workload/event-workload.js";
import { MIXED } from "../src/simulator/workload/mixed-workload.js";
import { PoisonWorkload, poisonSwarm } from "../src/simulator/workload/poison-workload.js";
import { RollingWorkload } from "../src/simulator/workload/rolling-workload.js";
import { flagsOf } from "./flags.js";

const SHOWN = 5;

const WORKLOADS = {
  events: { workload: (swarm) => new EventWorkload(swarm) },
  dags: { workload: (swarm) => new DagWorkload(swarm) },
  poison: { workload: (swarm) => new PoisonWorkload(swarm), adjust: poisonSwarm },
  rolling: { workload: (swarm) => new RollingWorkload(swarm) },
  mixed: MIXED,
  actors: { workload: () => new ActorWorkload() },
} satisfies Readonly<Record<string, SimulateOptions>>;
const KINDS = Object.keys(WORKLOADS) as (keyof typeof WORKLOADS)[];
const flags = flagsOf({
  seeds: "number",
  seed: "number",
  minutes: "number",
  marks: "switch",
  bail: "switch",
  hashes: "switch",
  ...(Object.fromEntries(KINDS.map((kind) => [kind, "switch"])) as Record<keyof typeof WORKLOADS, "switch">),
});
const { json, minutes = 0 } = flags;
const say = (line: string) => (json ? console.error(line) : console.log(line));
const one = flags.seed !== undefined && flags.seeds === undefined && minutes === 0;
// Every night other seeds.
const first = flags.seed ?? (minutes > 0 ? Math.floor(Date.now() / 1000) : 1);
const kind = KINDS.find((name) => flags[name]);
const work: SimulateOptions = kind === undefined ? {} : WORKLOADS[kind];
const most = minutes > 0 ? Number.POSITIVE_INFINITY : one ? 1 : (flags.seeds ?? 100);

function tell({ seed, violations, trace }: Verdict): void {
  if (one) for (const line of trace) say(line);
  if (violations.length === 0) return;
  say(`seed ${seed} breaks ${[...new Set(violations.map(({ invariant }) => invariant))].join(", ")}`);
  for (const { invariant, at, runId, detail } of violations.slice(0, SHOWN)) {
    say(`  ${invariant} at ${at.toFixed(3)} ms, run ${runId?.slice(-6) ?? "-"}: ${detail}`);
  }
  say(`  replay: npm run simulate -- ${kind === undefined ? "" : `--${kind} `}--seed ${seed}`);
}

// Stack traces of expected errors would take half of the time.
if (!one) Error.stackTraceLimit = 0;
const startedAt = performance.now();
const until = minutes > 0 ? startedAt + minutes * 60_000 : Number.POSITIVE_INFINITY;
let count = 0;
const failed: Verdict[] = [];
const hashes: Record<number, string> = {};
const tally: Record<string, number> = {};
for (let seed = first; count < most && performance.now() < until; seed++) {
  const verdict = await simulate(seed, { ...work, keepTrace: one });
  count++;
  if (minutes === 0) hashes[seed] = verdict.hash;
  for (const [what, times] of Object.entries(verdict.tally)) tally[what] = (tally[what] ?? 0) + times;
  if (verdict.violations.length > 0 || one) tell(verdict);
  if (verdict.violations.length > 0) failed.push(verdict);
  if (failed.length > 0 && flags.bail) break;
  if (count % 100 === 0) say(`${count} seeds, ${failed.length} failed`);
  await setImmediate();
}
const rounded = (perMs: number) => Math.round(perMs * 10_000) / 10;
const seedsPerSecond = rounded(count / (performance.now() - startedAt));
const { user, system } = process.cpuUsage();
const seedsPerCoreSecond = rounded(count / ((user + system) / 1000));
const violations = failed.flatMap(({ seed, violations: found }) => found.map((violation) => ({ seed, ...violation })));
const missing = flags.marks ? missingMarks(tally) : [];
const ok = failed.length === 0 && missing.length === 0 && count > 0;
if (json) {
  const withHashes = flags.hashes ? { hashes } : {};
  const figures = { seedsPerSecond, seedsPerCoreSecond };
  console.log(JSON.stringify({ ok, seeds: count, first, violations, missing, ...figures, tally, ...withHashes }));
} else {
  for (const [what, times] of Object.entries(tally).sort()) say(`  ${what}: ${times}`);
  for (const mark of missing) say(`never happened: ${mark}`);
  say(`${count} seeds, ${failed.length} failed, ${seedsPerSecond} seeds/s, ${seedsPerCoreSecond} per second of a core`);
}
process.exitCode = ok ? 0 : 1;
