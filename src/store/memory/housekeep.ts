// Keeps house: sign of life, wake-up, sweep, in one turn.

import type { HouseReport, HouseRound } from "../contract/house.js";
import { overdueDeferred } from "./deferred-runs.js";
import { unreadMessages } from "./deliver-message.js";
import { misfitsDue } from "./misfits.js";
import { beat, isSilent, modeOf } from "./nodes.js";
import { sweepExpired } from "./sweep-expired.js";
import { runsInState, type Tables } from "./tables.js";
import { wakeParked } from "./wake-parked.js";

export function housekeep(tables: Tables, { incarnation, limit, reclaim, alone }: HouseRound): HouseReport {
  const registered = beat(tables, incarnation);
  const woken = wakeParked(tables, { limit });
  const gone = [...tables.nodes.values()].filter((row) => row.alone && isSilent(tables, row));
  const dead = new Set(gone.map((row) => row.incarnation));
  const reclaimed = reclaim ? sweepExpired(tables, { limit }, { by: incarnation, gone: dead }) : [];
  const nowUs = tables.nowUs();
  const inLine = runsInState(tables, "held").map(({ availableAtUs }) => availableAtUs);
  const wakesUs = runsInState(tables, "parked").flatMap(({ wakeAtUs }) => wakeAtUs ?? []);
  const dueUs = [...wakesUs, ...inLine].filter((atUs) => atUs > nowUs);
  const nextWakeMs = dueUs.length > 0 ? Math.ceil((Math.min(...dueUs) - nowUs) / 1000) : null;
  const held = inLine.some((atUs) => atUs <= nowUs);
  const called = alone ? unreadOf(tables, incarnation) : [];
  const overdue = overdueDeferred(tables, nowUs).length > 0;
  const mode = modeOf(tables, incarnation);
  const misfits = misfitsDue(tables, incarnation, nowUs);
  return { registered, woken, reclaimed, called, held, mode, overdue, misfits, nextWakeMs };
}

function unreadOf(tables: Tables, owner: string): HouseReport["called"] {
  return runsInState(tables, "running")
    .filter((row) => row.owner === owner && unreadMessages(tables, row.id).length > 0)
    .map(({ id: runId, inboxSeq }) => ({ runId, inboxSeq }));
}
