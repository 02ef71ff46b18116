// Checks that a store error ended no work: the run is held, and nothing of the error is in a journal.

import type { History } from "./history.js";

const TROUBLE = /STORE_UNAVAILABLE|STORE_REFUSED/;

export function checkTrouble(history: History): void {
  for (const run of history.runs.values()) {
    for (const { kind, name, payload } of run.journal) {
      if (kind === "start" || !payload) continue;
      history.expect(!TROUBLE.test(payload.data), "L9", run, `${kind} ${name} is recorded for the store's trouble`);
    }
  }
}
