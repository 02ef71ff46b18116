// S22: only a holder that died counts against a run. Later signs of life, and which runs shared a process, are known
// here from the operations, not from the store.

import { NOT_ALONE_FACTOR, SAME_CRASH_MS } from "../../kernel/run/suspicion.js";
import type { Reclaimed } from "../../store/contract/run/runs.js";
import type { History } from "./history.js";
import type { ModelRun, Taken } from "./model.js";

/** Follows what a sweep counted, and says so when it is not what happened. */
export function crashesAfter(history: History, run: ModelRun, { outcome, crashes, previousOwner }: Reclaimed): void {
  const { now, heardAt, disturbedAt } = history;
  const counted = run.streak > 1 ? run.taken.slice(1 - run.streak) : [];
  const died = counted.filter(({ owner, at }) => (heardAt.get(owner) ?? -1) <= at);
  const expected = run.streak - (counted.length - died.length);
  // A failover or a clock jump undoes a sign of life, or moves it after the reclaim.
  const isConfirmed = counted.every(({ owner, at }) => Math.min(at, heardAt.get(owner) ?? at) > disturbedAt);
  const restarts = outcome === "restarted" || outcome === "dead" ? restartsOf(history, run) : NO_RESTARTS;
  const [least, most] = [Math.max(expected, restarts.least), Math.max(expected, restarts.most)];
  const fits = crashes >= least && crashes <= most;
  if (isConfirmed) history.expect(fits, "S22", run, `${crashes} crashes counted, ${expected} holders died`);
  // More than the claims without progress: the holders before earlier restarts count, too, and may show a sign of life
  // from now on.
  const before = crashes > expected ? restarts.died : died;
  if (run.streak > 0 || outcome === "restarted") run.taken = [...before, { owner: previousOwner, at: now }];
  run.streak = isConfirmed && !fits ? expected : crashes;
  history.takenFrom.set(previousOwner, [...(history.takenFrom.get(previousOwner) ?? []), { runId: run.id, at: now }]);
}

interface Restarts {
  readonly least: number;
  readonly most: number;
  /** From whom the run was reclaimed at each earlier restart, without holders that showed a sign of life since. */
  readonly died: readonly Taken[];
}

const NO_RESTARTS: Restarts = { least: 0, most: 0, died: [] };

/**
 * How many crashes a restarted run has had since it was begun or retried, including this one: without those whose
 * holders showed a sign of life. A failover or a clock jump may have undone some of these signs, or moved others after
 * the reclaim. Progress in between undoes none.
 */
function restartsOf({ heardAt, takenFrom, disturbedAt }: History, { id, journal }: ModelRun): Restarts {
  const starts = journal.filter(({ kind }) => kind === "start" || kind === "retried");
  const begun = starts.findLastIndex(({ kind, name }) => kind === "retried" || name !== "recovery");
  // A sweep writes the start in the same moment in which it takes the run.
  const times = new Set(starts.slice(begun + 1).map(({ at }) => at));
  const taken = [...takenFrom].flatMap(([owner, all]) =>
    all.filter(({ runId, at }) => runId === id && times.has(at)).map(({ at }) => ({ owner, at })),
  );
  const died = taken.filter(({ owner, at }) => (heardAt.get(owner) ?? -1) <= at).sort((a, b) => a.at - b.at);
  const isConfirmed = taken.every(({ at }) => at > disturbedAt);
  const least = times.size + 1 - (taken.length - died.length);
  return { least: isConfirmed ? least : 1, most: isConfirmed ? least : times.size + 1, died };
}

/** Before anything of the reclaim is followed: whether this many crashes end this run. */
export function mayDie(history: History, { runId, previousOwner }: Reclaimed): (crashes: number) => boolean {
  const { now, runs, takenFrom } = history;
  const before = takenFrom.get(previousOwner) ?? [];
  const isAlone =
    !before.some((one) => one.runId !== runId && one.at > now - SAME_CRASH_MS) &&
    ![...runs.values()].some(({ id, state, owner }) => id !== runId && state === "running" && owner === previousOwner);
  const { crashLimit = 1 } = runs.get(runId) ?? {};
  return (crashes) =>
    crashes >= crashLimit && (crashLimit === 1 || isAlone || crashes >= NOT_ALONE_FACTOR * crashLimit);
}
