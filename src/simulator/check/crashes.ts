// S22: only a holder that died counts against a run. Who was heard of again, and who was in the same process, is known here from
// the operations, not from the store.

import { BESIDE_OTHERS, SAME_CRASH_MS } from "../../kernel/suspicion.js";
import type { Reclaimed } from "../../store/contract/runs.js";
import type { History } from "./history.js";
import type { ModelRun } from "./model.js";

/** Follows what a sweep counted, and says so when it is not what happened. */
export function crashesAfter(history: History, run: ModelRun, { outcome, crashes, previousOwner }: Reclaimed): void {
  const { now, heardAt, disturbedAt } = history;
  const counted = run.streak > 1 ? run.taken.slice(1 - run.streak) : [];
  const died = counted.filter(({ owner, at }) => (heardAt.get(owner) ?? -1) <= at);
  const expected = run.streak - (counted.length - died.length);
  // A failover or a jump of the clock takes back what was heard, or puts it behind the taking.
  const isSure = counted.every(({ owner, at }) => Math.min(at, heardAt.get(owner) ?? at) > disturbedAt);
  const restarts = outcome === "restarted" || outcome === "dead" ? restartsOf(history, run) : { least: 0, most: 0 };
  const [least, most] = [Math.max(expected, restarts.least), Math.max(expected, restarts.most)];
  const fits = crashes >= least && crashes <= most;
  if (isSure) history.expect(fits, "S22", run, `${crashes} crashes counted, ${expected} holders died`);
  if (run.streak > 0 || outcome === "restarted") run.taken = [...died, { owner: previousOwner, at: now }];
  run.streak = isSure && !fits ? expected : crashes;
  history.takenFrom.set(previousOwner, [...(history.takenFrom.get(previousOwner) ?? []), { runId: run.id, at: now }]);
}

/**
 * How many crashes a run that begins anew has had since somebody began it, this one included: at most as often as it did, and
 * without some or all of those whose holders were heard of again.
 */
function restartsOf(history: History, { id, journal }: ModelRun): { readonly least: number; readonly most: number } {
  const starts = journal.filter(({ kind }) => kind === "start" || kind === "redriven");
  const begun = starts.findLastIndex(({ kind, name }) => kind === "redriven" || name !== "recovery");
  const restarts = starts.length - 1 - begun;
  if (restarts === 0) return { least: 0, most: 1 };
  let lost = 0;
  for (const [owner, taken] of history.takenFrom) {
    const heardAt = history.heardAt.get(owner) ?? -1;
    lost += taken.filter(({ runId, at }) => runId === id && heardAt > at).length;
  }
  return { least: restarts + 1 - lost, most: restarts + 1 };
}

/** Before anything of the sweep is followed: whether so many crashes end this run. */
export function mayDie(history: History, { runId, previousOwner }: Reclaimed): (crashes: number) => boolean {
  const { now, runs, takenFrom } = history;
  const before = takenFrom.get(previousOwner) ?? [];
  const isAlone =
    !before.some((one) => one.runId !== runId && one.at > now - SAME_CRASH_MS) &&
    ![...runs.values()].some(({ id, state, owner }) => id !== runId && state === "running" && owner === previousOwner);
  const { crashLimit = 1 } = runs.get(runId) ?? {};
  return (crashes) => crashes >= crashLimit && (crashLimit === 1 || isAlone || crashes >= BESIDE_OTHERS * crashLimit);
}
