// What stands in the journal of a run that found no place under a limit: an error like any other, so that whoever waits for it,
// and a parent, can tell it by its code.

import type { Overflow } from "./new-run.js";

/** As JSON, the same wherever it is written. */
export function overflowReason(policy: Overflow): string {
  const message =
    policy === "drop"
      ? "There was no place under its limit, and by its overflow policy it does not wait."
      : "Newer runs wait for a place under its limit, and by its overflow policy the oldest gives way.";
  return JSON.stringify({ name: "Overflow", message, code: "OVERFLOW", details: { policy } });
}
