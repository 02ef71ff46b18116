// Keeps house: sign of life, wake-up, sweep, in one turn.

import type { HouseReport, HouseRound } from "../contract/house.js";
import { overdueDeferred } from "./deferred-runs.js";
import { beat, modeOf } from "./nodes.js";
import { sweepExpired } from "./sweep-expired.js";
import { runsInState, type Tables } from "./tables.js";
import { wakeParked } from "./wake-parked.js";

export function housekeep(tables: Tables, { incarnation, limit, reclaim }: HouseRound): HouseReport {
  const registered = beat(tables, incarnation);
  const woken = wakeParked(tables, { limit });
  const reclaimed = reclaim ? sweepExpired(tables, { limit }) : [];
  const nowUs = tables.nowUs();
  const inLine = runsInState(tables, "held").map(({ availableAtUs }) => availableAtUs);
  const wakesUs = runsInState(tables, "parked").flatMap(({ wakeAtUs }) => wakeAtUs ?? []);
  const dueUs = [...wakesUs, ...inLine].filter((atUs) => atUs > nowUs);
  const nextWakeMs = dueUs.length > 0 ? Math.ceil((Math.min(...dueUs) - nowUs) / 1000) : null;
  const held = inLine.some((atUs) => atUs <= nowUs);
  const overdue = overdueDeferred(tables, nowUs).length > 0;
  return { registered, woken, reclaimed, held, mode: modeOf(tables, incarnation), overdue, nextWakeMs };
}
