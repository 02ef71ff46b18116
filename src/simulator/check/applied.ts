// Dispatches each store operation to its check. The compiler asks for a line for each that changes something.

import type { NewRun } from "../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../store/contract/run/starts.js";
import type { OperationName } from "../../store/operation.js";
import type { ChangingName } from "../../store/operations.js";
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
/** The checkers follow runs, their messages and their events. All other parts of the store have tests of their own. */
type FollowedName = Extract<
  ChangingName,
  `runs.${string}` | `inbox.${string}` | `events.${string}` | "reclaim" | "cleanUp"
>;
/** Null: it changes nothing of a run. */
type Checks = { readonly [Name in FollowedName]: Check<Name> | null } & {
  readonly [Name in Exclude<OperationName, FollowedName>]?: Check<Name>;
};

const CHECKS: Checks = {
  "runs.groupIds": null,
  "runs.declare": null,
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

export function isChecked(name: OperationName): boolean {
  return (CHECKS[name] ?? null) !== null;
}

/** `by`: the incarnation that asked for it. */
export function checkApplied(history: History, applied: Applied, by: string): void {
  history.by = by;
  history.calm?.look(history);
  (CHECKS[applied.op] as ((history: History, applied: Applied) => void) | null)?.(history, applied);
  history.tellParents();
  checkLimits(history);
  checkTasks(history);
  history.calm?.look(history);
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
