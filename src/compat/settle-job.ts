// Settles or renews a job under the claim that this queue object holds: done, to be retried, dead, paused, handed back.

import type { Payload } from "../kernel/codec/payload.js";
import { storeError } from "../kernel/codec/stored-error.js";
import { type Claim, ClaimLost } from "../kernel/run/claim.js";
import type { FailEffect, RetryEffect, SettleEffect } from "../kernel/run/effect.js";
import { retryDelayMs } from "../kernel/run/retry.js";
import { sleep } from "../kernel/world.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { HeldClaim } from "./held-claims.js";
import type { JobRef } from "./job.js";
import type { QueueParts } from "./queue-parts.js";

/** A locked row is free again after one statement. */
const BUSY_DELAY_MS = 5;

/** False: this queue object does not, or no longer, hold the job for this worker. Nothing was written. */
export async function settleJob(
  { store, held: claims }: QueueParts,
  ref: JobRef,
  workerId: string | undefined,
  effectFor: (held: HeldClaim) => SettleEffect,
): Promise<boolean> {
  const held = claims.find(ref, workerId);
  if (!held) return false;
  let accepted = true;
  const effect = effectFor(held);
  try {
    await held.writer.commit([effect]);
  } catch (error) {
    // Any other error leaves the outcome unknown: the claim is kept, and the same call repeated finds what it wrote.
    if (!(error instanceof ClaimLost)) throw error;
    accepted = false;
  }
  claims.drop(held);
  // Another job of the same run may begin.
  if (accepted && (effect.kind === "complete" || effect.kind === "fail"))
    await store.runs.admit({ runIds: [held.claim.runId] });
  return accepted;
}

/** Under the claim of the job: the caller's statements and an entry in its journal, in one transaction. */
export async function writeFenced<T>(
  { store, held: claims }: QueueParts,
  ref: JobRef,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const held = claims.find(ref);
  if (!held) throw new ClaimLost({ runId: typeof ref === "string" ? ref : ref.id, epoch: 0, token: "" });
  const { writer, claim } = held;
  let [release, value] = [() => {}, undefined as T];
  try {
    const answer = await store.runs.transact(async (tx) => {
      value = await work(tx);
      // From here until the answer nothing else of this job is sent: the expected sequence stays true.
      release = await writer.hold();
      const entry = { kind: "transaction", name: "handler" };
      return { claim, expectedSeq: writer.seq, effects: [{ kind: "append", entry }] };
    });
    writer.wrote(answer);
    return value;
  } finally {
    release();
  }
}

/** The effect of a failure at the n-th attempt. */
export function failureEffect(
  { settings }: QueueParts,
  attempt: number,
  maxAttempts: number,
  thrown: unknown,
): FailEffect | RetryEffect {
  const error = storeError(settings.codecs, thrown);
  if (attempt >= maxAttempts) return deadLetter(error);
  return { kind: "retry", delayMs: retryDelayMs(settings.backoff, attempt, () => settings.world.random()), error };
}

export function deadLetter(reason: Payload): FailEffect {
  return { kind: "fail", as: "dead", reason };
}

/** Sets the remaining time of a claim, counted from now. False: the claim is lost. */
export async function renewClaim({ store, settings }: QueueParts, claim: Claim, leaseMs: number): Promise<boolean> {
  for (;;) {
    const [answer] = await store.runs.renew([claim], leaseMs);
    if (answer?.outcome !== "busy") return answer?.outcome === "held";
    await sleep(settings.world, BUSY_DELAY_MS);
  }
}
