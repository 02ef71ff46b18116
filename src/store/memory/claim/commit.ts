// Commits: how the holder of a claim writes. Each is accepted as a whole under its own fence, or not at all.
//
// One call runs in passes, as the PostgreSQL statements do: reject what cannot be stored, apply what matches its fence,
// count down and notify those that wait for ended runs, classify what did not match. A run whose own tasks end in the
// same call is handled after them.

import { isDeepStrictEqual } from "node:util";
import { InvalidInput } from "../../../kernel/error.js";
import { omit } from "../../../kernel/omit.js";
import type { Claim } from "../../../kernel/run/claim.js";
import {
  type Effect,
  type EnqueueEffect,
  ends,
  entryOf,
  settles,
  type TakeEffect,
} from "../../../kernel/run/effect.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { Problem } from "../../check/value.js";
import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import { findMessage } from "../inbox/deliver-message.js";
import { appendEntry, type NewEntry } from "../journal/append-entry.js";
import { addRun, type InsertPlace } from "../run/add-run.js";
import { type Ended, settleEnds } from "../run/end-run.js";
import { compareText } from "../table/names.js";
import type { JournalRow, RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { waitersOf } from "../task/count-down.js";
import { settleClaim } from "./settle-claim.js";

export function commit(tables: Tables, commits: readonly Commit[]): readonly CommitAnswer[] {
  const answers = new Map<Commit, CommitAnswer>();
  let left = commits;
  for (let pass = 1; pass <= 2 && left.length > 0; pass++) {
    applyBatch(tables, left, answers);
    left = left.filter((one) => answers.get(one)!.outcome === "busy");
  }
  return commits.map((one) => answers.get(one)!);
}

function applyBatch(tables: Tables, commits: readonly Commit[], answers: Map<Commit, CommitAnswer>): void {
  const nowUs = tables.nowUs();
  const waiters = new Set(commits.flatMap((one) => countedDownBy(tables, one)));
  const rows = commits.map((one) => (waiters.has(one.claim.runId) ? null : fencedRow(tables, one)));
  const ended: Ended[] = [];
  const refused = commits.filter((one, i) => {
    const row = rows[i];
    if (!row) return true;
    const error = checkNeeds(tables, one);
    if (error) answers.set(one, { outcome: "refused", error });
    else {
      const end = applyCommit(tables, row, one, nowUs);
      if (end) ended.push(end);
      answers.set(one, { outcome: "accepted", seq: row.seq, inboxSeq: row.inboxSeq });
    }
    return false;
  });
  settleEnds(tables, ended, nowUs);
  for (const one of refused) answers.set(one, classify(tables, one));
}

/** A reclaimed claim remembers how many commits came too late; those inside a transaction are rolled back with it. */
export function countLate(tables: Tables, { runId, epoch }: Claim): void {
  const taken = tables.takenClaims.get(runId);
  if (!taken) return;
  const counted = taken.map((one) => (one.epoch === epoch ? { ...one, refused: one.refused + 1 } : one));
  tables.takenClaims.set(runId, counted);
}

/** The runs whose count of open tasks this commit would lower. */
function countedDownBy(tables: Tables, { claim, effects }: Commit): readonly string[] {
  const row = tables.runs.get(claim.runId);
  return row?.counts && ends(effects.at(-1)!) ? waitersOf(tables, row) : [];
}

/** Whether this commit would be accepted now. */
export function accepts(tables: Tables, one: Commit): boolean {
  return fencedRow(tables, one) !== null && checkNeeds(tables, one) === null;
}

/** The fence. `running` is implied: in any other state the row has no token. */
function fencedRow(tables: Tables, { claim, expectedSeq }: Commit): RunRow | null {
  const row = tables.runs.get(claim.runId);
  const matches = row && row.epoch === claim.epoch && row.token === claim.token && row.seq === expectedSeq;
  return matches ? row : null;
}

/** Checked after the fence: in a repeated commit the message is already taken and the child already exists. */
function checkNeeds(tables: Tables, { claim, effects }: Commit): Problem {
  for (const [i, effect] of effects.entries()) {
    if (effect.kind === "take" && !isUnread(tables, claim.runId, effect)) {
      return new InvalidInput(`effects[${i}].messageKey`, "no unread message has this key in the run's inbox");
    }
    if (effect.kind === "enqueue") {
      const child = tables.runs.get(effect.run.id);
      if (child && (effect.task || child.parentId !== claim.runId)) {
        return new InvalidInput(`effects[${i}].run.id`, "another run has this id, and it is no child of this one");
      }
    }
  }
  return null;
}

function isUnread(tables: Tables, runId: string, { messageKey, messageId }: TakeEffect): boolean {
  const message = findMessage(tables, runId, messageKey);
  return message?.takenSeq === null && (messageId === undefined || message.messageId === messageId);
}

function applyCommit(tables: Tables, row: RunRow, { claim, effects }: Commit, nowUs: number): Ended | null {
  let children = 0;
  for (const effect of effects) {
    if (effect.kind === "enqueue") addChild(tables, row, effect, { nowUs, position: children++ });
    appendEntry(tables, row, { ...entryFor(tables, row, effect), claim }, nowUs);
  }
  const last = effects.at(-1)!;
  // The claim was counted as a crash when it was granted. Progress resets the count; a failure undoes only its own, and
  // so does a claim that is released without progress (a suspect that was not executed stays one) and code that does
  // not fit.
  const isUnused = last.kind === "misfit" || (last.kind === "handBack" && effects.length === 1);
  row.crashes = last.kind === "retry" || isUnused ? Math.max(row.crashes - 1, 0) : 0;
  return settles(last) ? settleClaim(tables, row, last, nowUs) : null;
}

function addChild(tables: Tables, row: RunRow, { run, task }: EnqueueEffect, place: InsertPlace): void {
  const needs = task?.needs ?? [];
  const waits = task ? { pending: needs.length, paused: row.pausing } : null;
  // A child is never deferred: its parent started it, not a caller. Nor has it attributes at its start.
  const child = omit(run as Omit<NewRun, "key">, "deferred", "attributes");
  addRun(tables, { ...child, parentId: row.id }, place, { task: waits });
  if (task) row.pending++;
  for (const id of needs) tables.needs.set(id, [...(tables.needs.get(id) ?? []), run.id]);
  if (needs.length > 0) tables.needed.set(run.id, [...needs].sort(compareText));
}

function entryFor(tables: Tables, row: RunRow, effect: Effect): NewEntry {
  if (effect.kind !== "take") return entryOf(effect);
  const message = findMessage(tables, row.id, effect.messageKey)!;
  message.takenSeq = row.seq + 1;
  return { ...entryOf(effect), name: message.name, payload: message.payload };
}

/** Why a commit was not accepted. */
export function classify(tables: Tables, { claim, expectedSeq, effects }: Commit): CommitAnswer {
  const row = tables.runs.get(claim.runId);
  if (!row) return { outcome: "lost" };
  const log = tables.journal.get(row.id);
  const written = effects.every((effect, i) => wrote(log?.get(expectedSeq + i + 1), effect, claim));
  if (written) return { outcome: "recorded", seq: expectedSeq + effects.length };
  if (row.epoch === claim.epoch && row.token === claim.token)
    return row.seq === expectedSeq ? { outcome: "busy" } : { outcome: "moved", seq: row.seq };
  return { outcome: "lost" };
}

/** Whether the entry is what this effect writes under this claim. A message's name and payload are not the holder's. */
function wrote(entry: JournalRow | undefined, effect: Effect, claim: Claim): boolean {
  if (!entry || entry.token !== claim.token || entry.epoch !== claim.epoch) return false;
  const mine = entryOf(effect);
  if (entry.kind !== mine.kind || entry.key !== mine.key) return false;
  return effect.kind === "take" || (entry.name === mine.name && isDeepStrictEqual(entry.payload, mine.payload));
}
