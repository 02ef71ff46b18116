// One chaos run: a cluster under load, harm for a while, then healing, then judgement.

import { setTimeout as pass } from "node:timers/promises";
import { Chance } from "../src/simulator/chance.js";
import { check, type Findings, unfinishedRuns } from "./check.js";
import { Cluster } from "./cluster.js";
import { Load } from "./load.js";
import { FAULTS, type Fault, Nemesis } from "./nemesis.js";

export interface ChaosOptions {
  readonly seconds: number;
  readonly nodes: number;
  readonly seed: number;
  /** No faults at all: nothing may change hands. */
  readonly calm: boolean;
  /** Default: all. */
  readonly faults?: readonly Fault[];
  /** Keep the database of a failed run. */
  readonly keep: boolean;
  readonly say: (line: string) => void;
}

export interface ChaosReport extends Findings {
  readonly ok: boolean;
  readonly seed: number;
  readonly faults: Readonly<Partial<Record<Fault, number>>>;
  readonly runs: number;
  /** Trips whose cancel was accepted. */
  readonly cancelled: number;
  /** Processes and calls that ended as they must not. */
  readonly surprises: readonly string[];
}

/** After the last fault, and after each run that has ended since: leases that run out, a node that is just starting. */
const HEALED_WITHIN_MS = 45_000;

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seconds, nodes, seed, calm, say } = options;
  const chance = new Chance(seed);
  const cluster = await Cluster.start(nodes);
  let report: ChaosReport | null = null;
  try {
    const load = new Load(cluster.clientUrl, chance.split("load"));
    await load.start();
    say(`${nodes} nodes are at work; ${calm ? "calm" : "harm"} for ${seconds} s, seed ${seed}`);
    const faulty = calm ? [] : (options.faults ?? FAULTS);
    const nemesis = new Nemesis(cluster, chance.split("nemesis"), faulty, { say, poison: () => load.poison() });
    if (calm) await pass(seconds * 1000);
    else await nemesis.run(seconds * 1000);
    await nemesis.heal();
    say("healed; waiting for every run to end");
    await load.stop();
    await untilAllEnded(cluster);
    await cluster.stopNodes();
    await load.close();
    const findings = await check(cluster, load);
    for (const [message, times] of await cluster.database.complaints()) say(`server: ${times} × ${message}`);
    const surprises = [...cluster.surprises, ...load.surprises];
    const faults = nemesis.counts;
    const ok = judge(findings, { calm, faults }) && surprises.length === 0;
    report = { ok, seed, faults, runs: load.acknowledged.size, cancelled: load.cancelled.size, ...findings, surprises };
    return report;
  } finally {
    const kept = await cluster.stop({ keep: options.keep && report?.ok === false });
    if (kept !== null) say(`kept: startEmbedded({ dataDir: "${kept}" })`);
  }
}

/** With these alone every holder lives and renews: nothing may change hands. */
const PEACEFUL: readonly string[] = ["presenceRefused", "foreignEnv", "roll"] satisfies Fault[];

function judge(
  findings: Findings,
  { calm, faults }: { calm: boolean; faults: Readonly<Record<string, number>> },
): boolean {
  const { takeovers, ...violations } = findings;
  if (Object.values(violations).some((count) => count > 0)) return false;
  if (!calm && Object.values(faults).some((count) => count === 0)) return false;
  return Object.keys(faults).every((fault) => PEACEFUL.includes(fault)) ? takeovers === 0 : takeovers > 0;
}

async function untilAllEnded(cluster: Cluster): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let since = performance.now(); performance.now() - since < HEALED_WITHIN_MS; ) {
    const left = await unfinishedRuns(cluster);
    if (left === 0) return;
    // On a busy machine there is a backlog: what still moves is not stuck.
    if (left < fewest) since = performance.now();
    fewest = Math.min(fewest, left);
    await pass(200);
  }
}
