// Settles or renews a job under the claim that this queue object holds: done, to be retried, dead, paused, handed back.

import type { Payload } from "../kernel/codec/payload.js";
import { storeError } from "../kernel/codec/stored-error.js";
import { type Claim, ClaimLost } from "../kernel/run/claim.js";
import type { FailEffect, RetryEffect, SettleEffect } from "../kernel/run/effect.js";
import { retryDelayMs } from "../kernel/run/retry.js";
import { sleep } from "../kernel/world.js";
import type { HeldClaim } from "./held-claims.js";
import type { JobRef } from "./job.js";
import type { QueueParts } from "./queue-parts.js";

/** A locked row is free again after one statement. */
const BUSY_DELAY_MS = 5;

/** False: this queue object does not, or no longer, hold the job for this worker. Nothing was written. */
export async function settleJob(
  { held: claims }: QueueParts,
  ref: JobRef,
  workerId: string | undefined,
  effectFor: (held: HeldClaim) => SettleEffect,
): Promise<boolean> {
  const held = claims.find(ref, workerId);
  if (!held) return false;
  let accepted = true;
  try {
    await held.writer.commit([effectFor(held)]);
  } catch (error) {
    // Any other error leaves the outcome unknown: the claim is kept, and the same call repeated finds what it wrote.
    if (!(error instanceof ClaimLost)) throw error;
    accepted = false;
  }
  claims.drop(held);
  return accepted;
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
