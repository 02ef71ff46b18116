// S22: only a holder that died counts against a run. Who was heard of again, and who was in the same process, is known here from
// the operations, not from the store.

import { BESIDE_OTHERS, SAME_CRASH_MS } from "../../kernel/suspicion.js";
import type { Reclaimed } from "../../store/contract/runs.js";
import type { History } from "./history.js";
import type { ModelRun } from "./model.js";

/** Follows what a sweep counted, and says so when it is not what happened. */
export function crashesAfter(history: History, run: ModelRun, { outcome, crashes, previousOwner }: Reclaimed): void {
  const { now, heard, disturbedAt } = history;
  const counted = run.streak > 1 ? run.taken.slice(1 - run.streak) : [];
  const died = counted.filter(({ owner, at }) => (heard.get(owner) ?? -1) <= at);
  const expected = run.streak - (counted.length - died.length);
  // A failover or a jump of the clock takes back what was heard; restarts are counted besides.
  const isSure = counted.every(({ at }) => at > disturbedAt) && outcome !== "restarted" && outcome !== "dead";
  if (isSure) history.expect(crashes === expected, "S22", run, `${crashes} crashes counted, ${expected} holders died`);
  else history.expect(outcome !== "dead" || crashes >= run.crashLimit, "S22", run, `dead after ${crashes} crashes`);
  if (run.streak > 0 || outcome === "restarted") run.taken = [...died, { owner: previousOwner, at: now }];
  run.streak = isSure ? expected : crashes;
  history.takenFrom.set(previousOwner, [...(history.takenFrom.get(previousOwner) ?? []), { runId: run.id, at: now }]);
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
