// Renews claims, and reads who held a run.

import { type Claim, isTokenOf } from "../../../kernel/run/claim.js";
import type { ClaimRecord, Holder } from "../../contract/claim/claims.js";
import type { RenewAnswer } from "../../contract/run/runs.js";
import { beat } from "../node/nodes.js";
import { toMs, toUs } from "../table/micros.js";
import type { Tables } from "../table/tables.js";

/** Reclaimed claims are recorded, the others are identified by their tokens. */
export function readClaims(tables: Tables, runId: string, limit: number): readonly ClaimRecord[] {
  const tokens = new Map<number, string>();
  for (const { epoch, token } of tables.journal.get(runId)?.values() ?? []) if (token) tokens.set(epoch, token);
  const taken = new Map((tables.takenClaims.get(runId) ?? []).map((one) => [one.epoch, one]));
  const run = tables.runs.get(runId);
  const held = new Map(run?.owner ? [[run.epoch, run.owner]] : []);
  const epochs = [...new Set([...tokens.keys(), ...taken.keys(), ...held.keys()])].sort((a, b) => a - b);
  return epochs.slice(Math.max(epochs.length - Math.max(limit, 0), 0)).map((epoch) => {
    const note = taken.get(epoch);
    const owner = held.get(epoch) ?? note?.owner ?? drawnBy(tables, tokens.get(epoch)!);
    const holder = holderOf(tables, owner);
    if (!note) return { epoch, holder, reclaimed: null };
    const { atUs, by, outcome, refused } = note;
    return { epoch, holder, reclaimed: { at: toMs(atUs), by: holderOf(tables, by), outcome, refused } };
  });
}

function drawnBy(tables: Tables, token: string): string | null {
  return [...tables.nodes.keys()].find((incarnation) => isTokenOf(incarnation, token)) ?? null;
}

export function holderOf(tables: Tables, incarnation: string | null): Holder | null {
  if (incarnation === null) return null;
  const { identity = null, name = null } = tables.nodes.get(incarnation) ?? {};
  return { incarnation, identity, name };
}

/** The answer also carries the size of the inbox. A renewal is a sign of life. */
export function renewClaims(tables: Tables, claims: readonly Claim[], leaseMs: number): readonly RenewAnswer[] {
  const leaseUntilUs = tables.nowUs() + toUs(leaseMs);
  return claims.map((claim) => {
    const row = tables.runs.get(claim?.runId);
    if (!row || row.epoch !== claim.epoch || row.token !== claim.token) return { outcome: "lost" };
    row.leaseUntilUs = leaseUntilUs;
    if (row.owner) beat(tables, row.owner);
    return { outcome: "held", inboxSeq: row.inboxSeq };
  });
}
