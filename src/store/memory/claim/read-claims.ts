// Reads who held a run, claim by claim: reclaimed ones are recorded, the others are identified by their tokens.

import { isTokenOf } from "../../../kernel/run/claim.js";
import type { ClaimRecord, Holder } from "../../contract/claim/claims.js";
import { toMs } from "../table/micros.js";
import type { Tables } from "../table/tables.js";

export function readClaims(tables: Tables, runId: string, limit: number): readonly ClaimRecord[] {
  const tokens = new Map<number, string>();
  for (const { epoch, token } of tables.journal.get(runId)?.values() ?? []) if (token) tokens.set(epoch, token);
  const taken = new Map((tables.takenClaims.get(runId) ?? []).map((one) => [one.epoch, one]));
  const run = tables.runs.get(runId);
  const held = new Map(run?.owner ? [[run.epoch, run.owner]] : []);
  const epochs = [...new Set([...tokens.keys(), ...taken.keys(), ...held.keys()])].sort((a, b) => a - b);
  return epochs.slice(Math.max(epochs.length - Math.max(limit, 0), 0)).map((epoch) => {
    const note = taken.get(epoch);
    const owner = held.get(epoch) ?? note?.owner ?? drewer(tables, tokens.get(epoch)!);
    const reclaimed = note && { at: toMs(note.atUs), by: holderOf(tables, note.by), outcome: note.outcome };
    return { epoch, holder: holderOf(tables, owner), reclaimed: reclaimed ?? null };
  });
}

function drewer(tables: Tables, token: string): string | null {
  return [...tables.nodes.keys()].find((incarnation) => isTokenOf(incarnation, token)) ?? null;
}

export function holderOf(tables: Tables, incarnation: string | null): Holder | null {
  if (incarnation === null) return null;
  const { identity = null, name = null } = tables.nodes.get(incarnation) ?? {};
  return { incarnation, identity, name };
}
