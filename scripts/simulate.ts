// `npm run simulate -- --seeds N [--seed S] [--events | --dags | --actors | --poison | --rolling] [--bail] [--json]`: the real engine under
// seeded faults, checked independently. `--events`: the workload of triggers instead of scripts. `--dags`: DAGs. `--actors`: episodes.
// `--poison`: runs that kill their process. `--rolling`: nodes with two versions of the code.
// A failing seed is printed with the command that replays it; `--seed S` alone prints that seed's trace. With --json also
// `--hashes`: the hash of each seed's trace.

import { setImmediate } from "node:timers/promises";
import { type SimulateOptions, simulate, type Verdict } from "../src/simulator/simulate.js";
import { ActorWorkload } from "../src/simulator/workload/actor-workload.js";
import { DagWorkload } from "../src/simulator/workload/dag-workload.js";
import { EventWorkload } from "../src/simulator/workload/event-workload.js";
import { PoisonWorkload, poisonSwarm } from "../src/simulator/workload/poison-workload.js";
import { RollingWorkload } from "../src/simulator/workload/rolling-workload.js";

const SHOWN = 5;

function numberAfter(flag: string, fallback: number): number {
  const at = process.argv.indexOf(flag);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
}

const json = process.argv.includes("--json");
const say = (line: string) => (json ? console.error(line) : console.log(line));
const one = process.argv.includes("--seed") && !process.argv.includes("--seeds");
const first = numberAfter("--seed", 1);
const WORKLOADS: Readonly<Record<string, SimulateOptions>> = {
  "--events": { workload: (swarm) => new EventWorkload(swarm) },
  "--dags": { workload: (swarm) => new DagWorkload(swarm) },
  "--poison": { workload: (swarm) => new PoisonWorkload(swarm), adjust: poisonSwarm },
  "--rolling": { workload: (swarm) => new RollingWorkload(swarm) },
  "--actors": { workload: () => new ActorWorkload() },
};
const flag = Object.keys(WORKLOADS).find((name) => process.argv.includes(name));
const work = flag === undefined ? {} : WORKLOADS[flag]!;
const count = one ? 1 : numberAfter("--seeds", 100);

function tell({ seed, violations, trace }: Verdict): void {
  if (one) for (const line of trace) say(line);
  if (violations.length === 0) return;
  say(`seed ${seed} breaks ${[...new Set(violations.map(({ invariant }) => invariant))].join(", ")}`);
  for (const { invariant, at, runId, detail } of violations.slice(0, SHOWN)) {
    say(`  ${invariant} at ${at.toFixed(3)} ms, run ${runId?.slice(-6) ?? "-"}: ${detail}`);
  }
  say(`  replay: npm run simulate -- ${flag === undefined ? "" : `${flag} `}--seed ${seed}`);
}

// Stack traces of expected errors would take half of the time.
if (!one) Error.stackTraceLimit = 0;
const startedAt = performance.now();
const failed: Verdict[] = [];
const hashes: Record<number, string> = {};
const tally: Record<string, number> = {};
for (let seed = first; seed < first + count; seed++) {
  const verdict = await simulate(seed, { ...work, keepTrace: one });
  hashes[seed] = verdict.hash;
  for (const [what, times] of Object.entries(verdict.tally)) tally[what] = (tally[what] ?? 0) + times;
  if (verdict.violations.length > 0 || one) tell(verdict);
  if (verdict.violations.length > 0) failed.push(verdict);
  if (failed.length > 0 && process.argv.includes("--bail")) break;
  if ((seed - first + 1) % 100 === 0) say(`${seed - first + 1} of ${count} seeds, ${failed.length} failed`);
  await setImmediate();
}
const seedsPerSecond = Math.round((count / (performance.now() - startedAt)) * 10_000) / 10;
const violations = failed.flatMap(({ seed, violations: found }) => found.map((violation) => ({ seed, ...violation })));
const ok = failed.length === 0;
if (json) {
  const withHashes = process.argv.includes("--hashes") ? { hashes } : {};
  console.log(JSON.stringify({ ok, seeds: count, violations, seedsPerSecond, tally, ...withHashes }));
} else {
  for (const [what, times] of Object.entries(tally).sort()) say(`  ${what}: ${times}`);
  say(`${count} seeds, ${failed.length} failed, ${seedsPerSecond} seeds/s`);
}
process.exitCode = ok ? 0 : 1;
