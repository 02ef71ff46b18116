// Maps a handler's end to an outcome of its job.

import { tamed } from "../kernel/codec/stored-error.js";

/** Return or throw it: the job is paused until a person decides, and costs no attempt. */
export class Release {
  /** Distinguishes it from other results. */
  readonly kind = "release";
}

/** Return or throw it when `stopping` aborts: the job goes back to its place in the queue and costs no attempt. */
export class HandBack {
  /** Distinguishes it from other results. */
  readonly kind = "handBack";
}

export type JobOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "release" }
  | { readonly kind: "handBack" }
  /** The handler learned it from a fenced write of its own. */
  | { readonly kind: "lost" }
  | { readonly kind: "failed"; readonly error: unknown };

/** Awaits the handler; never rejects. */
export async function outcomeOf(work: () => unknown): Promise<JobOutcome> {
  try {
    const value = await work();
    return asked(value) ?? { kind: "done" };
  } catch (thrown) {
    const error = tamed(thrown);
    const lost = (error as { code?: unknown } | null | undefined)?.code === "CLAIM_LOST";
    return asked(error) ?? (lost ? { kind: "lost" } : { kind: "failed", error });
  }
}

function asked(value: unknown): JobOutcome | null {
  return value instanceof Release || value instanceof HandBack ? { kind: value.kind } : null;
}
