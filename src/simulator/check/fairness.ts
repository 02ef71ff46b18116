// L6: no queue starves. Of all that a claim may take, the most urgent goes first and of those the oldest, whatever its
// queue; and nothing is left while there is room. A claim of recent runs leaves older ones to the next claim of all.

import { suspectFrom } from "../../kernel/run/suspicion.js";
import type { ClaimedRun, ClaimRequest } from "../../store/contract/run/runs.js";
import { toUs } from "../../store/memory/table/micros.js";
import type { RunRow } from "../../store/memory/table/rows.js";
import type { History } from "./history.js";

/** Of a claim that was not a repeat, just after it was applied. */
export function checkFair(history: History, request: ClaimRequest, granted: readonly ClaimedRun[]): void {
  const { groupIds, limit, suspects, owner, build, recentMs } = request;
  const fromUs = (recentMs ?? null) === null ? Number.NEGATIVE_INFINITY : history.nowUs - toUs(recentMs!);
  const names = [owner, build];
  const { runs, pausedQueues } = history.tables;
  const paused = [...pausedQueues.values()];
  const isPaused = ({ env, queue }: RunRow["group"]) => paused.some((one) => one.env === env && one.queue === queue);
  const taken = granted.flatMap(({ runId }) => runs.get(runId) ?? []);
  for (const row of runs.values()) {
    if (row.state !== "waiting" || row.availableAtUs > history.nowUs || row.availableAtUs <= fromUs) continue;
    if (!groupIds.includes(row.groupId) || isPaused(row.group)) continue;
    // One suspect at most: others are left, and so is what stood behind them.
    if (suspects === 1 && granted.some(({ suspect }) => suspect)) continue;
    if (suspects === 0 && row.crashes >= suspectFrom(row.crashLimit)) continue;
    // Its code does not fit: left to others.
    if (row.misfits?.some((tried) => names.includes(tried))) continue;
    const behind = taken.find((one) => isBefore(row, one));
    if (behind) history.broken("L6", row.id, `${behind.id} of ${behind.group.queue} was granted before it`);
    else if (granted.length < limit) history.broken("L6", row.id, `left waiting by a claim with room for ${limit}`);
  }
}

function isBefore(a: RunRow, b: RunRow): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.availableAtUs < b.availableAtUs);
}
