// The database is stopped for a minute under load: how soon the nodes, which nothing restarts, have 90 % of their rate again.

import { setTimeout as pass } from "node:timers/promises";
import { Database } from "../chaos/database.js";
import { Fleet } from "./recovery-fleet.js";
import type { Say } from "./recovery-kills.js";
import { programs } from "./recovery-programs.js";

const NODES = 3;
/** Few, and slow ones: the rate is that of the slots, not of the machine. */
const CONCURRENCY = 8;
const WORK_MS = 200;
const BEFORE_MS = 10_000;
/** A rate is measured over this time. */
const WINDOW_MS = 2_000;
const LOOK_EVERY_MS = 250;
const PART = 0.9;
const LIMIT_MS = 30_000;
/** More than all slots can work off until the end. */
const BACKLOG = Math.ceil((NODES * CONCURRENCY * (BEFORE_MS + LIMIT_MS + 10_000)) / WORK_MS);

export interface Outage {
  /** Runs per second before the stop. */
  readonly before: number;
  /** Since the server accepts connections again, until a window with 90 % of that rate has ended. */
  readonly recoveredMs: number;
  /** Processes that ended: none may. */
  readonly ended: number;
}

export async function rateAfterOutage(outageMs: number, say: Say): Promise<Outage> {
  const database = await Database.start();
  try {
    await using fleet = await Fleet.open(database.url);
    await Promise.all(Array.from({ length: NODES }, () => fleet.spawn({ concurrency: CONCURRENCY })));
    for (let left = BACKLOG; left > 0; left -= 500) {
      const items = Array.from({ length: Math.min(left, 500) }, () => ({ input: WORK_MS }));
      await fleet.client.startMany(programs.innocent, items);
    }
    const completed = async () => (await fleet.states("innocent"))["completed"] ?? 0;
    await pass(WINDOW_MS);
    const [from, at] = [await completed(), performance.now()];
    await pass(BEFORE_MS);
    const before = ((await completed()) - from) / ((performance.now() - at) / 1000);
    say(`${before.toFixed(0)} runs/s; the database stops for ${outageMs / 1000} s`);
    await database.halt();
    await pass(outageMs);
    await database.open();
    const recoveredMs = await untilRate(completed, PART * before);
    say(`90 % of it ${recoveredMs} ms after the database was back, ${fleet.alive.size} of ${NODES} processes alive`);
    return { before: Math.round(before), recoveredMs, ended: NODES - fleet.alive.size };
  } finally {
    await database.stop({ keep: false });
  }
}

async function untilRate(completed: () => Promise<number>, wanted: number): Promise<number> {
  const since = performance.now();
  const looks: { readonly at: number; readonly n: number }[] = [];
  while (performance.now() - since < LIMIT_MS) {
    const look = { at: performance.now(), n: await completed() };
    looks.push(look);
    const first = looks.findLast(({ at }) => look.at - at >= WINDOW_MS);
    if (first && (look.n - first.n) / ((look.at - first.at) / 1000) >= wanted) return Math.round(look.at - since);
    await pass(LOOK_EVERY_MS);
  }
  return LIMIT_MS;
}
