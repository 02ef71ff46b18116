// Leads each operation of the store to the check that knows it.

import type { Applied } from "../applied.js";
import { checkBreakers, checkProbe } from "./breakers.js";
import { checkClaim, checkRenew, checkSweep, checkWake } from "./claims.js";
import { checkCommits, checkReview, checkTransact } from "./commits.js";
import { checkDebounce, checkMatch, checkSettle, checkStart, checkSubscribe } from "./events.js";
import type { History } from "./history.js";
import { checkLimits } from "./limits.js";
import { checkCancel, checkExpire, checkInsert, checkRetry, checkSend } from "./messages.js";
import { opened } from "./stops.js";
import { checkClean } from "./tables.js";
import { checkOperation, checkReconcile, checkTasks } from "./tasks.js";

type Checks = { readonly [Op in Applied["op"]]: (history: History, applied: Extract<Applied, { op: Op }>) => void };

const CHECKS: Checks = {
  insert: checkInsert,
  claim: checkClaim,
  renew: checkRenew,
  commit: checkCommits,
  sweep: checkSweep,
  expire: checkExpire,
  review: checkReview,
  admit: () => {},
  wake: checkWake,
  cancel: checkCancel,
  send: checkSend,
  transact: checkTransact,
  retry: checkRetry,
  subscribe: checkSubscribe,
  match: checkMatch,
  start: checkStart,
  debounce: checkDebounce,
  settle: checkSettle,
  breakers: checkBreakers,
  probe: checkProbe,
  pause: checkOperation,
  resume: checkOperation,
  cancelTasks: checkOperation,
  reconcile: checkReconcile,
  clean: checkClean,
};

/** `by`: the incarnation that asked for it. */
export function checkApplied(history: History, applied: Applied, by: string): void {
  history.by = by;
  history.calm?.look(history);
  (CHECKS[applied.op] as (history: History, applied: Applied) => void)(history, applied);
  if (applied.op === "resume") opened(history, applied.runId);
  history.tellParents();
  checkLimits(history);
  checkTasks(history);
  history.calm?.look(history);
}
