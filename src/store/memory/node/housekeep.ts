// One round of housekeeping: a heartbeat, missing nodes, and the resulting work; each part in a turn of its own.

import type { HouseReport, HouseRound, ReclaimRound, Witness } from "../../contract/node/house.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import type { Store } from "../../contract/store.js";
import { type ExpiredRow, orphansOf, reclaimRows } from "../claim/reclaim-expired.js";
import { unreadMessages } from "../inbox/deliver-message.js";
import { overdueDeferred } from "../run/deferred-runs.js";
import { misfitsDue } from "../run/misfits.js";
import { toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import { runsInState, type Tables } from "../table/tables.js";
import { beat, firstOf, modeOf, peersOf } from "./nodes.js";
import { departing, goneNodes, hasWatched, isHere, noteMissing } from "./presence.js";
import type { Wakes } from "./wakes.js";

export function memoryHouse(tables: Tables, wakes: Wakes): Pick<Store, "housekeep" | "reclaim"> {
  return {
    housekeep: async (round) => housekeep(tables, round),
    reclaim: async (round) => {
      const reclaimed = wakes.after(reclaim(tables, round));
      wakes.readyById(reclaimed.map(({ runId }) => runId));
      return reclaimed;
    },
  };
}

function housekeep(tables: Tables, round: HouseRound): HouseReport {
  const { incarnation, env, alone } = round;
  const registered = beat(tables, incarnation, round.vitals);
  noteMissing(tables, env);
  const me = tables.nodes.get(incarnation);
  const nowUs = tables.nowUs();
  const inLine = runsInState(tables, "held").map(({ availableAtUs }) => availableAtUs);
  const parked = runsInState(tables, "parked");
  const wakesUs = parked.flatMap(({ wakeAtUs }) => wakeAtUs ?? []);
  const deadlines = [...wakesUs, ...inLine, ...departing(tables, round).values()].filter((atUs) => atUs > nowUs);
  return {
    registered,
    present: registered && me?.attends === true && isHere(tables, me),
    orphans: orphansOf(tables, isOrphan(tables, round)).length > 0,
    due: wakesUs.some((atUs) => atUs <= nowUs) || parked.some(({ id }) => unreadMessages(tables, id).length > 0),
    called: alone ? unreadOf(tables, incarnation) : [],
    peers: peersOf(tables, incarnation),
    first: firstOf(tables, round),
    gone: [...goneNodes(tables, round)]
      .filter((one) => (tables.nodes.get(one)?.seenAtUs ?? 0) > nowUs - toUs(60_000))
      .sort(compareText),
    held: inLine.some((atUs) => atUs <= nowUs),
    mode: modeOf(tables, incarnation),
    overdue: overdueDeferred(tables, nowUs).length > 0,
    misfits: misfitsDue(tables, incarnation, nowUs),
    nextWakeMs: deadlines.length > 0 ? Math.ceil((Math.min(...deadlines) - nowUs) / 1000) : null,
  };
}

function reclaim(tables: Tables, round: ReclaimRound): readonly Reclaimed[] {
  const rows = orphansOf(tables, isOrphan(tables, round)).slice(0, Math.max(round.limit, 0));
  return reclaimRows(tables, rows, round.incarnation);
}

function isOrphan(tables: Tables, witness: Witness): (row: ExpiredRow) => boolean {
  const nowUs = tables.nowUs();
  const gone = goneNodes(tables, witness);
  return ({ group, leaseUntilUs, owner }) =>
    group.env === witness.env &&
    (gone.has(owner) || (leaseUntilUs <= nowUs && hasWatched(tables.nodes.get(owner), witness)));
}

function unreadOf(tables: Tables, owner: string): HouseReport["called"] {
  return runsInState(tables, "running")
    .filter((row) => row.owner === owner && unreadMessages(tables, row.id).length > 0)
    .map(({ id: runId, inboxSeq }) => ({ runId, inboxSeq }));
}
