// Recovery after `kill -9`: how long the runs of the killed process wait, and which nodes get them.

import type { ChildProcess } from "node:child_process";
import { setTimeout as pass } from "node:timers/promises";
import { startProxy } from "../test/harness/proxy.js";
import { end, Fleet } from "./recovery-fleet.js";

/** A round that takes longer than this counts as this long. */
const LIMIT_MS = 40_000;
/** A node that has just started is not a steady one: longer than any grace. */
const STEADY_MS = 17_000;
/** More than one node has slots for, at default settings: at least two of the nodes get some. */
const MANY = 12;

export type Say = (line: string) => void;

async function series(name: string, rounds: number, say: Say, round: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let i = 0; i < rounds; i++) {
    values.push(await round());
    say(`${name}: ${values.at(-1)}`);
  }
  return values;
}

/** One of three nodes dies. The first is never killed, so that a node which has been up for long is always there. */
export async function oneOfSeveral(url: string, rounds: number, say: Say): Promise<number[]> {
  await using fleet = await Fleet.open(url);
  const steady = await fleet.spawn();
  await Promise.all([fleet.spawn(), fleet.spawn()]);
  await pass(STEADY_MS);
  return await series("one of several nodes, ms", rounds, say, async () => {
    const ids = await fleet.hold(MANY);
    const others = [...fleet.alive].filter((child) => child !== steady);
    const victim = mostOf(fleet, others, ids);
    const lost = fleet.holds(victim, ids);
    const at = performance.now();
    victim.kill("SIGKILL");
    const ms = await fleet.takenOver(lost, at, LIMIT_MS);
    await Promise.all([fleet.spawn(), fleet.finish(ids)]);
    return ms;
  });
}

/** The only process dies, with a generated identity, and its supervisor starts it again after half a second. */
export async function theOnlyNode(url: string, rounds: number, say: Say): Promise<number[]> {
  await using fleet = await Fleet.open(url);
  let node = await fleet.spawn();
  return await series("the only node, restarted, ms", rounds, say, async () => {
    const ids = await fleet.hold(1);
    const at = performance.now();
    await end(node, "SIGKILL");
    await pass(500 - (performance.now() - at));
    const startedAt = performance.now();
    node = await fleet.spawn();
    say(`its process took ${Math.round(performance.now() - startedAt)} ms to start`);
    return fleet.takenOver(ids, at, LIMIT_MS);
  });
}

/** A second node has been up for three seconds when the first one dies. */
export async function aYoungNode(url: string, rounds: number, say: Say): Promise<number[]> {
  await using fleet = await Fleet.open(url);
  let node = await fleet.spawn();
  return await series("a second node that is 3 s old, ms", rounds, say, async () => {
    const ids = await fleet.hold(1);
    const second = await fleet.spawn();
    await pass(3_000);
    const at = performance.now();
    await end(node, "SIGKILL");
    node = second;
    return fleet.takenOver(ids, at, LIMIT_MS);
  });
}

const CUT_MS = 1_300;
const CUT_EVERY_MS = 10_000;

/** All connections are cut for 1.3 s in every 10 s; in the middle of that, one of three nodes dies. */
export async function underFlapping(url: string, rounds: number, say: Say): Promise<number[]> {
  const { hostname: host, port } = new URL(url);
  await using proxy = await startProxy({ host, port: Number(port) });
  const cut = () => {
    proxy.refuse = "all";
    setTimeout(() => {
      proxy.refuse = "none";
    }, CUT_MS);
  };
  return await series("under flapping connections, ms", rounds, say, async () => {
    await using fleet = await Fleet.open(url);
    const nodes = await Promise.all([1, 2, 3].map(() => fleet.spawn({ url: proxy.url(url) })));
    const ids = await fleet.hold(MANY);
    cut();
    const flapping = setInterval(cut, CUT_EVERY_MS);
    try {
      // Two cuts have passed; the moment within the period is another one in each round.
      await pass(CUT_EVERY_MS + 2_000 + Math.random() * CUT_EVERY_MS);
      const victim = mostOf(fleet, nodes, ids);
      const lost = fleet.holds(victim, ids);
      const at = performance.now();
      victim.kill("SIGKILL");
      return await fleet.takenOver(lost, at, LIMIT_MS);
    } finally {
      clearInterval(flapping);
      await pass(CUT_MS);
    }
  });
}

const RECLAIMED = 30;
/** Each of them could take all: how they share is their choice and not the number of their slots. */
const SLOTS = 40;

/** The largest share when 30 runs of a killed node go to four idle ones. */
export async function largestShare(url: string, rounds: number, say: Say): Promise<number[]> {
  await using fleet = await Fleet.open(url);
  const values: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const victim = await fleet.spawn({ concurrency: SLOTS });
    const ids = await fleet.hold(RECLAIMED, 1_000);
    const idle = await Promise.all([1, 2, 3, 4].map(() => fleet.spawn({ concurrency: SLOTS })));
    await pass(3_000);
    const at = performance.now();
    victim.kill("SIGKILL");
    await fleet.takenOver(ids, at, LIMIT_MS);
    const shares = idle.map((child) => fleet.holds(child, ids).length).sort((a, b) => b - a);
    say(`shares of ${RECLAIMED} reclaimed runs: ${shares.join(" / ")}`);
    values.push(shares[0]!);
    await Promise.all(idle.map((child) => end(child, "SIGKILL")));
  }
  return values;
}

function mostOf(fleet: Fleet, children: readonly ChildProcess[], ids: readonly string[]): ChildProcess {
  return [...children].sort((a, b) => fleet.holds(b, ids).length - fleet.holds(a, ids).length)[0]!;
}
