// The error in the journal of a run that was skipped by a limit's overflow policy; callers and parents recognise it by
// its code.

import type { Overflow } from "./new-run.js";

/** As JSON, identical in both stores. */
export function overflowReason(policy: Overflow): string {
  const message =
    policy === "drop"
      ? "The limit had no free slot, and its overflow policy does not let the run wait."
      : "Newer runs wait for a slot of the limit, and its overflow policy skips the oldest.";
  return JSON.stringify({ name: "Overflow", message, code: "OVERFLOW", details: { policy } });
}
