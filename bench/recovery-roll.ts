// A rolling deployment of three nodes under load, forward and back: parents with children, a change guarded by `ctx.patched`, and
// a step added at the end.

import type { ChildProcess } from "node:child_process";
import { setTimeout as pass } from "node:timers/promises";
import { end, Fleet } from "./recovery-fleet.js";
import type { Say } from "./recovery-kills.js";
import { programs } from "./recovery-programs.js";

const NODES = 3;
const CHILDREN = 3;
/** Four parents a second: with their children about a third of the slots. */
const START_EVERY_MS = 250;
const BETWEEN_MS = 1_000;
const LIMIT_MS = 60_000;

export interface Rolled {
  /** Parents and children. */
  readonly runs: number;
  readonly completed: number;
  readonly failed: number;
  readonly quarantined: number;
  /** While no node had the newer code: these wait for it, and end when it is back. */
  readonly waitingForCode: number;
}

export async function rollForwardAndBack(url: string, say: Say): Promise<Rolled> {
  await using fleet = await Fleet.open(url);
  let nodes = await Promise.all(
    Array.from({ length: NODES }, () => fleet.spawn({ version: 1, identity: { build: "one" } })),
  );
  const stop = new AbortController();
  const loaded = load(fleet, stop.signal);
  const roll = async (version: 1 | 2) => {
    const rolled: ChildProcess[] = [];
    for (const old of nodes) {
      // The new process is up before the old one stops, as a supervisor does it.
      rolled.push(await fleet.spawn({ version, identity: { build: version === 1 ? "one" : "two" } }));
      await pass(BETWEEN_MS);
      await end(old, "SIGTERM");
    }
    nodes = rolled;
    await pass(BETWEEN_MS);
    say(`rolled to version ${version}: ${JSON.stringify(await total(fleet))}`);
  };
  await pass(2 * BETWEEN_MS);
  await roll(2);
  await roll(1);
  stop.abort();
  await loaded;
  const until = performance.now() + LIMIT_MS;
  const before = await settled(fleet, performance.now() + 8_000);
  const waitingForCode = open(before) + (before["quarantined"] ?? 0);
  // Runs that the newer code has advanced need that code again.
  await fleet.spawn({ version: 2, identity: { build: "two" } });
  const after = await settled(fleet, until);
  const runs = Object.values(after).reduce((sum, n) => sum + n, 0);
  const count = (state: string) => after[state] ?? 0;
  const report = {
    runs,
    completed: count("completed"),
    failed: count("failed") + count("dead"),
    quarantined: count("quarantined"),
    waitingForCode,
  };
  say(`rolled forward and back: ${JSON.stringify(report)}`);
  return report;
}

async function load(fleet: Fleet, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await fleet.client.start(programs.parent, CHILDREN);
    await pass(START_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

async function total(fleet: Fleet): Promise<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const program of ["parent", "item"]) {
    for (const [state, n] of Object.entries(await fleet.states(program))) sum[state] = (sum[state] ?? 0) + n;
  }
  return sum;
}

const open = (states: Record<string, number>) =>
  ["blocked", "held", "waiting", "running", "parked", "paused"].reduce((sum, state) => sum + (states[state] ?? 0), 0);

/** When every run has completed, or at the time limit: a quarantined run may still be released. */
async function settled(fleet: Fleet, until: number): Promise<Record<string, number>> {
  let states = await total(fleet);
  while (performance.now() < until && open(states) + (states["quarantined"] ?? 0) > 0) {
    await pass(200);
    states = await total(fleet);
  }
  return states;
}
