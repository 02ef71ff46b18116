// The operations on runs, joined. Each does its work in one turn, which makes it atomic.

import type { Commit, RunStore } from "../../contract/run/runs.js";
import { claimRuns } from "../claim/claim-runs.js";
import { commit } from "../claim/commit.js";
import { readClaims } from "../claim/read-claims.js";
import { reclaimExpired } from "../claim/reclaim-expired.js";
import { renewClaims } from "../claim/renew-claims.js";
import { glance } from "../journal/read-journal.js";
import type { admitting } from "../limit/admitting.js";
import { declarePrograms } from "../limit/declare-programs.js";
import { hint, type NodeListeners, tellCalled } from "../node/attend.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";
import { taskOperations } from "../task/task-operations.js";
import { cancelRun } from "./cancel-run.js";
import { groupIds, limitsOf } from "./group-ids.js";
import { insertRuns } from "./insert-runs.js";
import { memoryRecords } from "./list-runs.js";
import { nextDue } from "./next-due.js";
import { othersRuns } from "./others-runs.js";
import { memoryRetention } from "./retain-runs.js";
import { busyRuns, leaveTasks, retryRuns } from "./retry-runs.js";
import { unansweredIn } from "./stop-requests.js";
import { transact } from "./transact.js";

/** How the store tells others of what an operation changed. */
interface Wakes {
  readonly listeners: NodeListeners;
  readonly admit: ReturnType<typeof admitting>["admit"];
  readonly withWakes: ReturnType<typeof admitting>["withWakes"];
  readonly announceReady: ReturnType<typeof admitting>["announceReady"];
  readonly wakeParked: RunStore["wakeParked"];
}

export function memoryRuns(
  tables: Tables,
  { listeners, admit, withWakes, announceReady, wakeParked }: Wakes,
): RunStore {
  return {
    groupIds: async (groups) => groupIds(tables, groups),
    declare: async (incarnation, programs) => declarePrograms(tables, incarnation, programs),
    limitsOf: async (group) => limitsOf(tables, group),
    insert: async (runs, { tx } = {}) => {
      const answers = insertRuns(tablesSeenBy(tables, tx), runs);
      if (tx) return answers;
      const held = runs.filter((run, i) => answers[i]!.outcome === "inserted" && (run.limits?.length ?? 0) > 0);
      admit({ runIds: held.map(({ id }) => id) });
      hint(listeners, tables, runs);
      return answers;
    },
    admit: async (whom) => admit(whom),
    claim: async (request) => claimRuns(tables, request),
    renew: async (claims, leaseMs) => renewClaims(tables, claims, leaseMs),
    commit: async (commits) => {
      const answers = withWakes(commit(tables, commits));
      const written = commits.filter((_, i) => answers[i]!.outcome === "accepted");
      const rows = written.flatMap(touchedBy).flatMap((id) => tables.runs.get(id) ?? []);
      announceReady(rows.filter(({ state }) => state === "waiting"));
      return answers;
    },
    reclaimExpired: async (options) => withWakes(reclaimExpired(tables, options)),
    ...othersRuns(tables, { withWakes, announceReady, admit }),
    wakeParked,
    cancel: async (runId, options) => {
      const before = tables.runs.get(runId)?.state;
      const answer = withWakes(cancelRun(tables, runId, options));
      // Its slots are free for other runs.
      if (answer.outcome === "cancelled" && before !== "cancelled") admit({ runIds: [runId] });
      tellCalled(listeners, unansweredIn(tables, runId));
      return answer;
    },
    ...taskOperations(tables, listeners, withWakes, admit),
    ...memoryRecords(tables),
    glance: async (runIds) => runIds.map((runId) => glance(tables, runId)),
    claims: async (runId, { limit }) => readClaims(tables, runId, limit),
    ...memoryRetention(tables),
    nextDue: async (groupIds) => nextDue(tables, groupIds),
    retry: async (runIds, options) => {
      // Runs that waited for a slot of these tasks get it before the run itself waits in line again.
      for (const row of busyRuns(tables, runIds, options)) withWakes(leaveTasks(tables, row, options.by));
      return withWakes(retryRuns(tables, runIds, options));
    },
    transact: (work) => transact(tables, work),
  };
}

function touchedBy({ claim, effects }: Commit): string[] {
  return [claim.runId, ...effects.flatMap((effect) => (effect.kind === "enqueue" ? effect.run.id : []))];
}
