// Debounce: stores the last event of each subject, and one run per subject that takes it when the subject is quiet.

import type { Claim } from "../../../kernel/run/claim.js";
import { type DebounceTicket, writeTicket } from "../../../kernel/run/debounce-ticket.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import {
  type AcceptAnswer,
  type DebounceAnswer,
  type EventRuns,
  type NewDebounced,
  type SettleDebounced,
  UNSEEN_MS,
} from "../../contract/event/events.js";
import { appendEntry } from "../journal/append-entry.js";
import { addRun, type InsertPlace } from "../run/add-run.js";
import { endRun } from "../run/end-run.js";
import { insertRuns } from "../run/insert-runs.js";
import { moveRun, nextGeneration } from "../run/move-run.js";
import { toUs } from "../table/micros.js";
import { joinKey } from "../table/names.js";
import { copyPayload, jsonPayload } from "../table/payload.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

const at = (env: string, { subscription, subject }: DebounceTicket) => joinKey(env, subscription, subject);

type Gathered = Extract<DebounceAnswer, { outcome: "gathered" }>;

/** With `inserting`, in a caller's transaction: nothing that is there is changed; each event makes a run, claimable at once. */
export function debounce(
  tables: Tables,
  events: readonly NewDebounced[],
  { inserting }: { readonly inserting: boolean },
): Gathered[] {
  const nowUs = tables.nowUs();
  const last = new Map(events.map((event) => [at(event.run.group.env, event.ticket), event]));
  const accept = inserting ? insertGatherer : gather;
  const gathers = new Map(
    [...last].map(([key, event], i) => [key, accept(tables, key, event, { nowUs, position: i })]),
  );
  return events.map(({ run, ticket }) => ({ outcome: "gathered", runId: gathers.get(at(run.group.env, ticket))! }));
}

/** In one turn, and so all or nothing: what is accepted here can be stored. */
export function acceptEvents(tables: Tables, events: readonly EventRuns[]): readonly AcceptAnswer[] {
  const inserted = insertRuns(
    tables,
    events.flatMap(({ runs }) => runs),
  ).values();
  const gathered = debounce(
    tables,
    events.flatMap((event) => event.debounced),
    { inserting: false },
  ).values();
  return events.map(({ runs, debounced }) => ({
    outcome: "accepted",
    runs: runs.map(() => inserted.next().value!),
    debounced: debounced.map(() => gathered.next().value!),
  }));
}

function insertGatherer(tables: Tables, _key: string, { run, ticket }: NewDebounced, place: InsertPlace): string {
  addRun(tables, { ...run, delayMs: 0 }, place, { ticket: writeTicket(ticket) });
  return run.id;
}

/** Returns the run that gathers for the subject. */
function gather(tables: Tables, key: string, { run, ticket }: NewDebounced, place: InsertPlace): string {
  const { nowUs } = place;
  if (tables.runs.has(run.id)) return run.id; // the answer to the first call was lost
  const known = tables.debounces.get(key);
  const gatherer = known && tables.runs.get(known.runId);
  const gone = gatherer ? isEnded(gatherer.state) : (known?.lastAtUs ?? 0) <= nowUs - toUs(UNSEEN_MS);
  const lives = known !== undefined && !gone;
  const runId = lives ? known.runId : run.id;
  const { subscription, subject, windowMs } = ticket;
  const row = { env: run.group.env, subscription, subject, runId, lastAtUs: nowUs, payload: copyPayload(run.input) };
  tables.debounces.set(key, row);
  if (!lives) addRun(tables, { ...run, delayMs: windowMs }, place, { ticket: writeTicket(ticket) });
  return runId;
}

const WRITTEN: Readonly<Record<string, Exclude<SettleDebounced["outcome"], "lost">>> = {
  start: "begins",
  parked: "waits",
  skipped: "merged",
};

export function settle(tables: Tables, claim: Claim, expectedSeq: number, ticket: DebounceTicket): SettleDebounced {
  const row = tables.runs.get(claim.runId);
  const held = row?.epoch === claim.epoch && row.token === claim.token && row.seq === expectedSeq;
  if (!row || !held) {
    const entry = tables.journal.get(claim.runId)?.get(expectedSeq + 1);
    const mine = entry?.token === claim.token && entry.epoch === claim.epoch;
    return { outcome: (mine && WRITTEN[entry.kind]) || "lost" };
  }
  return { outcome: settleHeld(tables, row, claim, ticket) };
}

function settleHeld(tables: Tables, row: RunRow, claim: Claim, ticket: DebounceTicket): "begins" | "waits" | "merged" {
  const nowUs = tables.nowUs();
  const key = at(row.group.env, ticket);
  const { subscription, subject } = ticket;
  const payload = copyPayload(tables.journal.get(row.id)!.get(row.baseSeq + 1)!.payload!);
  const own = { env: row.group.env, subscription, subject, runId: row.id, lastAtUs: row.createdAtUs, payload };
  const known = tables.debounces.get(key) ?? own;
  row.crashes = 0;
  if (known.runId !== row.id) {
    if (known.lastAtUs < own.lastAtUs) tables.debounces.set(key, { ...own, runId: known.runId });
    const payload = jsonPayload({ code: "DEBOUNCED" });
    appendEntry(tables, row, { kind: "skipped", name: "", key: null, payload, claim }, nowUs);
    endRun(tables, row, "skipped", nowUs);
    return "merged";
  }
  const quietAtUs = known.lastAtUs + toUs(ticket.windowMs);
  if (quietAtUs > nowUs) {
    tables.debounces.set(key, known);
    appendEntry(tables, row, { kind: "parked", name: "", key: null, payload: null, claim }, nowUs);
    row.availableAtUs = quietAtUs;
    moveRun(tables, row, row.limited ? "parked" : "waiting");
    if (row.limited) row.wakeAtUs = quietAtUs;
    return "waits";
  }
  tables.debounces.delete(key);
  appendEntry(tables, row, { kind: "start", name: "", key: null, payload: known.payload, claim }, nowUs);
  moveRun(tables, row, "waiting");
  row.baseSeq = row.seq - 1;
  nextGeneration(row);
  row.failures = 0;
  return "begins";
}
