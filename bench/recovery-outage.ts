// The database restarts, or is away for longer than a lease: how many claims are reclaimed from live nodes.

import { setTimeout as pass } from "node:timers/promises";
import { Database } from "../chaos/database.js";
import { Fleet } from "./recovery-fleet.js";
import type { Say } from "./recovery-kills.js";

const NODES = 3;
const RUNS = 12;
const OUTAGE_MS = 20_000;
/** Longer than a lease, so that late reclaims count, too. */
const AFTER_MS = 18_000;

export interface Taken {
  readonly restarts: number[];
  readonly outages: number[];
}

/** A server of its own, because the other figures need theirs. The restarts are orderly and immediate stops in turn. */
export async function takenFromLiveNodes(restarts: number, outages: number, say: Say): Promise<Taken> {
  const database = await Database.start();
  const taken: Taken = { restarts: [], outages: [] };
  const round = async (what: string, stop: () => Promise<void>, downMs: number): Promise<number> => {
    await using fleet = await Fleet.open(database.url);
    await Promise.all(Array.from({ length: NODES }, () => fleet.spawn()));
    const ids = await fleet.hold(RUNS);
    await pass(2_000);
    await stop();
    await pass(downMs);
    await database.open();
    await pass(AFTER_MS);
    const n = await fleet.taken(ids);
    say(`${what}: ${n} of ${RUNS} claims taken from live nodes`);
    return n;
  };
  try {
    for (let i = 0; i < restarts; i++) {
      const stop = i % 2 === 0 ? () => database.halt() : () => database.crash();
      taken.restarts.push(await round("database restart", stop, 0));
    }
    for (let i = 0; i < outages; i++) {
      taken.outages.push(await round("20 s outage", () => database.halt(), OUTAGE_MS));
    }
    return taken;
  } finally {
    await database.stop({ keep: false });
  }
}
