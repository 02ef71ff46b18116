// Creates instances and appends to them, many in one statement, each accepted or refused alone.

import type {
  Append,
  AppendAnswer,
  CreateAnswer,
  InstanceStatus,
  NewInstance,
} from "../../contract/machine/machines.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import type { Groups } from "../run/groups.js";
import { appendColumns, createColumns, unfitColumns } from "./machine-columns.js";
import {
  appendInstances,
  createInstances,
  REFUSED,
  refusedAppends,
  TRIED,
  unfitParts,
  whoseInstances,
} from "./machine-sql.js";

export async function create(
  db: Database,
  groups: Groups,
  instances: readonly NewInstance[],
  tx?: Transaction,
): Promise<readonly CreateAnswer[]> {
  // The second with an id in one call is answered like one that came later.
  return inRounds(instances, firstOfEach, (first) => sendCreates(db, groups, first, tx));
}

/** Sends those that fit into one statement, and then the rest. Answers are in the order of the items. */
async function inRounds<Item, Answer>(
  items: readonly Item[],
  fitting: (open: readonly Item[]) => readonly Item[],
  send: (round: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<readonly Answer[]> {
  const answers = new Map<Item, Answer>();
  for (let open = items; open.length > 0; open = open.filter((one) => !answers.has(one))) {
    const round = fitting(open);
    const sent = await send(round);
    for (const [i, one] of round.entries()) answers.set(one, sent[i]!);
  }
  return items.map((one) => answers.get(one)!);
}

function firstOfEach(instances: readonly NewInstance[]): NewInstance[] {
  const seen = new Set<string>();
  return instances.filter(({ key }) => !seen.has(key) && seen.add(key));
}

async function sendCreates(
  db: Database,
  groups: Groups,
  instances: readonly NewInstance[],
  tx?: Transaction,
): Promise<readonly CreateAnswer[]> {
  if (instances.length === 0) return [];
  const values = () => createColumns(groups, instances);
  const rows = await db.run<{ key: string }>(createInstances, values, { tx });
  const created = new Set(rows.map(({ key }) => key));
  const losers = instances.filter(({ key }) => !created.has(key));
  const holders = losers.length > 0 ? await whose(db, losers, tx) : [];
  const lost = new Map(losers.map((one, i) => [one, holders[i]!]));
  return instances.map((one): CreateAnswer => {
    const holder = lost.get(one);
    if (!holder || holder.mine) return { outcome: "created" };
    return { outcome: holder.input_hash === one.inputHash ? "existing" : "conflict" };
  });
}

function whose(db: Database, losers: readonly NewInstance[], tx?: Transaction) {
  return db.run<{ input_hash: string | null; mine: boolean | null }>(whoseInstances, TRIED.arrays(losers), { tx });
}

export async function append(
  db: Database,
  groups: Groups,
  appends: readonly Append[],
): Promise<readonly AppendAnswer[]> {
  return inRounds(appends, apart, (round) => sendAppends(db, groups, round));
}

/**
 * The first ones that have no timer in common: one statement cannot remove a row and insert it again. (A sender replaces an event
 * while the instance takes the one before.) The others come after them, in their order.
 */
function apart(appends: readonly Append[]): readonly Append[] {
  const touched = new Set<string>();
  return appends.filter(({ timers, told, fired, cancelled }) => {
    const mine = [...timers, ...told, ...fired].map(({ id }) => id).concat(cancelled);
    const free = !mine.some((id) => touched.has(id));
    for (const id of mine) touched.add(id);
    return free;
  });
}

async function sendAppends(db: Database, groups: Groups, appends: readonly Append[]): Promise<readonly AppendAnswer[]> {
  const values = () => appendColumns(groups, appends);
  const rows = await db.run<{ ord: number; seq: string }>(appendInstances, values);
  const answers = new Map<Append, AppendAnswer>();
  for (const { ord, seq } of rows) answers.set(appends[ord - 1]!, { outcome: "accepted", seq: Number(seq) });
  const refused = appends.filter((one) => !answers.has(one));
  const reasons = refused.length > 0 ? await whyRefused(db, refused) : [];
  for (const [i, one] of refused.entries()) answers.set(one, reasons[i]!);
  return appends.map((one) => answers.get(one)!);
}

interface Refused {
  seq: string | null;
  status: InstanceStatus;
  recorded: boolean;
}

async function whyRefused(db: Database, appends: readonly Append[]): Promise<readonly AppendAnswer[]> {
  const rows = await db.run<Refused>(refusedAppends, REFUSED.arrays(appends));
  const unfit = await db.run<{ what: "taken" | "gone"; ord: number; key: string }>(unfitParts, unfitColumns(appends));
  return appends.map(({ expectedSeq, events }, a): AppendAnswer => {
    const { seq, status, recorded } = rows[a]!;
    if (seq === null) return { outcome: "unknown" };
    if (recorded) return { outcome: "recorded", seq: expectedSeq + events.length };
    if (status !== "active") return { outcome: "ended", status, seq: Number(seq) };
    if (Number(seq) !== expectedSeq) return { outcome: "moved", seq: Number(seq) };
    const mine = unfit.filter(({ ord }) => ord === a + 1);
    const keys = mine.flatMap(({ what, key }) => (what === "taken" ? key : []));
    if (keys.length > 0) return { outcome: "taken", keys };
    return mine.length > 0 ? { outcome: "moved", seq: Number(seq) } : { outcome: "busy" };
  });
}
