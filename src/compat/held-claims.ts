// The claims one queue object holds. A caller that knows only a job's id, or an older claim on it, finds nothing here.

import type { RunWriter } from "../engine/run-writer.js";
import type { Claim } from "../kernel/run/claim.js";
import type { ClaimedJob, JobRef } from "./job.js";

export interface HeldClaim {
  readonly job: ClaimedJob;
  readonly claim: Claim;
  readonly writer: RunWriter;
}

export class HeldClaims {
  readonly #byJob = new Map<string, HeldClaim>();

  /** A newer claim on the same job replaces the older one, which is certainly lost. */
  add(held: HeldClaim): void {
    this.#byJob.set(held.job.id, held);
  }

  find(ref: JobRef, workerId?: string): HeldClaim | null {
    const held = this.#byJob.get(typeof ref === "string" ? ref : ref.id);
    if (!held) return null;
    if (typeof ref !== "string" && ref.claimEpoch !== held.job.claimEpoch) return null;
    if (workerId !== undefined && workerId !== held.job.workerId) return null;
    return held;
  }

  drop(held: HeldClaim): void {
    if (this.#byJob.get(held.job.id) === held) this.#byJob.delete(held.job.id);
  }

  /** The store reclaimed this claim. */
  dropTaken(jobId: string, epoch: number): void {
    const held = this.#byJob.get(jobId);
    if (held && held.claim.epoch <= epoch) this.#byJob.delete(jobId);
  }
}
