// Dispatches each store operation to its check. An operation on runs without a line here may write to no run.

import type { NewRun } from "../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../store/contract/run/starts.js";
import type { OperationName } from "../../store/operation.js";
import { OPERATIONS_BY_NAME } from "../../store/operations.js";
import type { Applied, Of } from "../applied.js";
import { checkBreakers, checkProbe } from "./breakers.js";
import { checkClaim, checkRenew, checkSweep, checkWake } from "./claims.js";
import { checkCommits, checkReview, checkTransact } from "./commits.js";
import { checkAccept, checkDebounce, checkMatch, checkSettle, checkStart, checkSubscribe } from "./events.js";
import type { History } from "./history.js";
import { checkLimits } from "./limits.js";
import { checkCancel, checkExpire, checkInsert, checkRetry, checkSend } from "./messages.js";
import { opened } from "./stops.js";
import { checkClean } from "./tables.js";
import { checkOperation, checkReconcile, checkTasks } from "./tasks.js";

type Check<Name extends OperationName> = (history: History, applied: Of<Name>) => void;
type Checks = { readonly [Name in OperationName]?: Check<Name> };

const CHECKS: Checks = {
  "runs.insert": (history, { args: [runs], answer }) => checkInsert(history, runs, answer),
  "runs.claim": checkClaim,
  "runs.renew": checkRenew,
  "runs.commit": checkCommits,
  "runs.transact": checkTransact,
  "runs.reclaimExpired": (history, { answer }) => checkSweep(history, answer),
  "runs.recover": (history, { answer }) => checkSweep(history, answer),
  reclaim: (history, { answer }) => checkSweep(history, answer),
  "nodes.register": (history, { answer }) =>
    checkSweep(history, answer.outcome === "registered" ? answer.reclaimed : [], true),
  "runs.expireDeferred": checkExpire,
  "runs.reviewMisfits": checkReview,
  "runs.admit": () => {},
  "runs.wakeParked": checkWake,
  "runs.cancel": checkCancel,
  "runs.retry": checkRetry,
  "runs.pause": checkOperation,
  "runs.resume": (history, applied) => {
    checkOperation(history, applied);
    opened(history, applied.args[0]);
  },
  "runs.cancelTasks": checkOperation,
  "runs.reconcile": checkReconcile,
  "runs.archive": checkKept,
  "runs.prune": checkKept,
  "inbox.send": checkSend,
  "events.subscribe": checkSubscribe,
  "events.match": checkMatch,
  "events.start": checkStart,
  "events.debounce": checkDebounce,
  "events.accept": checkAccept,
  "events.settleDebounced": checkSettle,
  "breakers.read": checkBreakers,
  "breakers.takeProbe": (history, { args: [request], answer }) => checkProbe(history, request, answer),
  "schedules.fire": checkFire,
  "machines.create": (history, { args: [instances], answer }) =>
    checkEffects(
      history,
      instances.filter((_, i) => answer[i]!.outcome === "created"),
    ),
  "machines.append": (history, { args: [appends], answer }) =>
    checkEffects(
      history,
      appends.filter((_, i) => answer[i]!.outcome === "accepted"),
    ),
  cleanUp: checkClean,
};

/** The checkers follow runs, their messages and their events. All other parts of the store have tests of their own. */
const FOLLOWED = /^(runs|inbox|events)\./;

export function isChecked(name: OperationName): boolean {
  return name in CHECKS || (FOLLOWED.test(name) && OPERATIONS_BY_NAME.get(name)!.changes !== null);
}

/** `by`: the incarnation that asked for it. */
export function checkApplied(history: History, applied: Applied, by: string): void {
  history.by = by;
  history.calm?.look(history);
  const check = (CHECKS[applied.op] ?? checkUnwritten) as (history: History, applied: Applied) => void;
  check(history, applied);
  history.tellParents();
  checkLimits(history);
  checkTasks(history);
  history.calm?.look(history);
}

/** What writes to a run needs a check of its own, which knows the entries that it may write. */
function checkUnwritten(history: History, { op }: Applied): void {
  for (const run of history.runs.values()) {
    const seq = history.tables.runs.get(run.id)?.seq;
    history.expect(seq === run.seq, "S8", run, `${op} wrote to it up to ${seq}, and no check follows that`);
  }
}

/** A schedule that fires inserts runs, and takes the probe of one that tries. */
function checkFire(history: History, { args: [fires], answer }: Of<"schedules.fire">): void {
  const started = new Set(answer.flatMap((one) => (one.outcome === "fired" ? one.runIds : [])));
  const runs = fires.flatMap((fire) => fire.runs).filter(({ id }) => started.has(id));
  checkInserted(history, runs);
  for (const { probe } of fires) if (probe && started.has(probe.runId)) checkProbe(history, probe, true);
}

/** A step with effects inserts runs. */
function checkEffects(history: History, changes: readonly { readonly effects: readonly NewRun[] }[]): void {
  checkInserted(
    history,
    changes.flatMap(({ effects }) => effects),
  );
}

function checkInserted(history: History, runs: readonly NewRun[]): void {
  checkInsert(
    history,
    runs,
    runs.map(({ id: runId }): InsertAnswer => ({ outcome: "inserted", runId })),
  );
}

/** No workload archives or prunes: the checkers know every run. */
function checkKept(history: History, { op, answer }: Of<"runs.archive" | "runs.prune">): void {
  if (answer > 0) history.broken("S21", null, `${op} took ${answer} runs that are followed`);
}
