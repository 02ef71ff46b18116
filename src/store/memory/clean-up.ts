// Removes rows that nothing needs any more: past generations, old leases, gone nodes, past rates.

import type { Retention } from "../../kernel/setting/retention.js";
import {
  type Cleaned,
  type CleanPart,
  type CleanRound,
  isRetained,
  KEPT_NODES,
  MESSAGE_MEMORY_MS,
  type RetainedPart,
  SILENT_NODE_MS,
} from "../contract/cleanup.js";
import { DEFAULT_HEARTBEAT_MS, MISSED_HEARTBEATS } from "../contract/node/presence.js";
import { cleanRetained } from "./clean-retained.js";
import { toUs } from "./table/micros.js";
import { joinKey } from "./table/names.js";
import type { DebounceRow, JournalRow, KeptRow, LeaseRow, MessageRow, NodeRow, RunRow } from "./table/rows.js";
import { runsInState, type Tables } from "./table/tables.js";

interface Round {
  readonly env: string;
  readonly nowUs: number;
  /** What ended before this may be removed. */
  readonly untilUs: number;
  readonly limit: number;
}

export function cleanUp(tables: Tables, retention: Retention, round: CleanRound): Cleaned | null {
  const { part, env, everyMs, keepMs, limit } = round;
  const nowUs = tables.nowUs();
  const key = joinKey(env, part);
  if ((tables.cleanups.get(key) ?? Number.NEGATIVE_INFINITY) > nowUs - toUs(everyMs)) return null;
  tables.cleanups.set(key, nowUs);
  if (limit < 1) return { removed: 0, more: false };
  if (isRetained(part)) return cleanRetained(tables, { ...round, part }, retention);
  return PARTS[part](tables, { env, nowUs, untilUs: nowUs - toUs(keepMs!), limit });
}

const PARTS: Readonly<Record<Exclude<CleanPart, RetainedPart>, (tables: Tables, round: Round) => Cleaned>> = {
  generations: cleanGenerations,
  leases: cleanLeases,
  nodes: cleanNodes,
  rates: cleanRates,
  debounces: cleanDebounces,
  kept: cleanKept,
};

function cleanGenerations(tables: Tables, { env, nowUs, untilUs, limit }: Round): Cleaned {
  let entries = 0;
  let messages = 0;
  for (const row of tables.runs.values()) {
    if (row.group.env !== env || row.baseSeq === 0) continue;
    const starts = pastStarts(tables, row, untilUs);
    if (starts.length === 0) continue;
    const seq = Math.max(...starts.map((start) => start.seq));
    const boundary = Math.max(0, ...starts.filter(({ name }) => name !== "recovery").map((start) => start.seq));
    const log = tables.journal.get(row.id)!;
    const isPast = (entry: JournalRow) =>
      entry.seq < seq && (entry.seq < boundary || (entry.kind !== "start" && entry.kind !== "retried"));
    const old = [...log.values()].filter(isPast).slice(0, limit - entries);
    for (const entry of old) log.delete(entry.seq);
    entries += old.length;
    const inbox = tables.inbox.get(row.id) ?? [];
    const taken = inbox
      .filter((message) => isTakenBefore(message, seq) && !mayComeAgain(message, nowUs))
      .slice(0, limit - messages);
    if (taken.length > 0)
      tables.inbox.set(
        row.id,
        inbox.filter((message) => !taken.includes(message)),
      );
    messages += taken.length;
  }
  return { removed: entries + messages, more: Math.max(entries, messages) >= limit };
}

/** The first entries of its generations after the first. */
function pastStarts(tables: Tables, { id, baseSeq }: RunRow, untilUs: number): JournalRow[] {
  const log = [...(tables.journal.get(id)?.values() ?? [])];
  return log.filter(({ kind, seq, atUs }) => kind === "start" && seq > 1 && seq <= baseSeq + 1 && atUs <= untilUs);
}

function isTakenBefore({ takenSeq }: MessageRow, seq: number): boolean {
  return takenSeq !== null && takenSeq > 0 && takenSeq < seq;
}

function mayComeAgain({ kind, name, key, messageId, atUs }: MessageRow, nowUs: number): boolean {
  const isOnce = kind === "child" ? name === "completed" : key.endsWith(messageId);
  return !isOnce && atUs > nowUs - toUs(MESSAGE_MEMORY_MS);
}

/** The epoch floor is raised first: a key that is used again starts above it. */
function cleanLeases(tables: Tables, { env, untilUs, limit }: Round): Cleaned {
  const endUs = (row: LeaseRow) => (row.state === "claimed" ? row.leaseUntilUs : row.finishedAtUs!);
  const old = [...tables.leases.values()].filter((row) => row.env === env && endUs(row) <= untilUs).slice(0, limit);
  for (const { key, epoch } of old) {
    tables.leaseFloor.epoch = Math.max(tables.leaseFloor.epoch, epoch);
    tables.leases.delete(joinKey(env, key));
  }
  return { removed: old.length, more: old.length >= limit };
}

function cleanNodes(tables: Tables, { env, nowUs, untilUs, limit }: Round): Cleaned {
  const holders = new Set(runsInState(tables, "running").map(({ owner }) => owner));
  const byStart = [...tables.nodes.values()]
    .filter((row) => row.env === env)
    .sort((a, b) => a.startedAtUs - b.startedAtUs);
  const tooManyUs = byStart.at(-1 - KEPT_NODES)?.startedAtUs ?? Number.NEGATIVE_INFINITY;
  const isOver = (row: NodeRow) => (row.stoppedAtUs ?? row.seenAtUs) <= untilUs || row.startedAtUs <= tooManyUs;
  const old = byStart
    .filter((row) => isGone(row, nowUs) && isOver(row) && !holders.has(row.incarnation))
    .slice(0, limit);
  for (const { incarnation } of old) tables.nodes.delete(incarnation);
  return { removed: old.length, more: old.length >= limit };
}

function isGone({ stoppedAtUs, seenAtUs, heartbeatMs, leaseMs }: NodeRow, nowUs: number): boolean {
  const beatsMs = MISSED_HEARTBEATS * (heartbeatMs ?? DEFAULT_HEARTBEAT_MS);
  const silentMs = Math.max(beatsMs, leaseMs ?? 0);
  return stoppedAtUs !== null || (seenAtUs < nowUs - toUs(silentMs) && seenAtUs <= nowUs - toUs(SILENT_NODE_MS));
}

function cleanRates(tables: Tables, { env, untilUs, limit }: Round): Cleaned {
  const past = [...tables.rates].filter(([key, nextUs]) => key.startsWith(`${env}/`) && nextUs <= untilUs);
  const gone = past.slice(0, limit);
  for (const [key] of gone) tables.rates.delete(key);
  return { removed: gone.length, more: gone.length >= limit };
}

function cleanKept(tables: Tables, { env, untilUs, limit }: Round): Cleaned {
  const isOver = (row: KeptRow) => row.env === env && row.untilUs !== null && row.untilUs <= untilUs;
  const old = [...tables.kept].filter(([, row]) => isOver(row)).slice(0, limit);
  for (const [key] of old) tables.kept.delete(key);
  return { removed: old.length, more: old.length >= limit };
}

/** A run that gathered events and failed may be retried, and needs its event then. */
function cleanDebounces(tables: Tables, { env, untilUs, limit }: Round): Cleaned {
  const isOver = ({ runId, lastAtUs }: DebounceRow) => {
    const run = tables.runs.get(runId);
    if (!run) return lastAtUs <= untilUs;
    return (run.state === "cancelled" || run.state === "skipped") && run.endedAtUs! <= untilUs;
  };
  const old = [...tables.debounces].filter(([, row]) => row.env === env && isOver(row)).slice(0, limit);
  for (const [key] of old) tables.debounces.delete(key);
  return { removed: old.length, more: old.length >= limit };
}
