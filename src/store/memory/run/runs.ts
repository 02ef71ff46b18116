// The operations on runs, joined. Each does its work in one turn, which makes it atomic.

import type { Commit, CommitAnswer, RunStore } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import { claimRuns, nextDue } from "../claim/claim-runs.js";
import { readClaims, renewClaims } from "../claim/claims.js";
import { accepts, commit, countLate } from "../claim/commit.js";
import { reclaimExpired } from "../claim/reclaim-expired.js";
import { findOrphans, recoverRuns } from "../claim/recover-runs.js";
import { wakeParked } from "../inbox/wake-parked.js";
import { glance } from "../journal/read-journal.js";
import { takeOutput } from "../key/output-keys.js";
import { declarePrograms } from "../limit/declare-programs.js";
import type { Wakes } from "../node/wakes.js";
import { compareText, joinKey } from "../table/names.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy, transactionOver } from "../table/transaction.js";
import { reconcileTasks } from "../task/reconcile-tasks.js";
import { cancelRun, cancelTasks } from "./cancel-run.js";
import { expireDeferred, keyOf, unservedGroups } from "./deferred-runs.js";
import { insertRuns } from "./insert-runs.js";
import { memoryRecords } from "./list-runs.js";
import { reviewMisfits } from "./misfits.js";
import { pauseRun, resumeRun } from "./pause-run.js";
import { memoryRetention } from "./retain-runs.js";
import { busyRuns, leaveTasks, retryRuns } from "./retry-runs.js";
import { setAttributes } from "./run-attributes.js";
import { stopProgress } from "./stop-requests.js";

export function memoryRuns(tables: Tables, wakes: Wakes): RunStore {
  return {
    groupIds: async (groups) => groups.map((group) => tables.groups.idOf(group)),
    declare: async (incarnation, programs) => declarePrograms(tables, incarnation, programs),
    limitsOf: async (group) => tables.groups.limitsOf(group),
    insert: async (runs, { tx } = {}) => {
      const answers = insertRuns(tablesSeenBy(tables, tx), runs);
      if (!tx) wakes.started(runs);
      return answers;
    },
    admit: async (whom) => wakes.admit(whom),
    claim: async (request) => claimRuns(tables, request),
    renew: async (claims, leaseMs) => renewClaims(tables, claims, leaseMs),
    commit: async (commits) => {
      const answers = wakes.after(commit(tables, commits));
      for (const [i, { claim }] of commits.entries()) if (answers[i]!.outcome === "lost") countLate(tables, claim);
      wakes.readyById(commits.filter((_, i) => answers[i]!.outcome === "accepted").flatMap(touchedBy));
      return answers;
    },
    transact: (work) => transact(tables, work),
    reclaimExpired: async (options) => wakes.after(reclaimExpired(tables, options)),
    orphans: async (filter) => findOrphans(tables, filter),
    recover: async (decisions, options) => {
      const reclaimed = wakes.after(recoverRuns(tables, decisions, options));
      wakes.readyById(reclaimed.map(({ runId }) => runId));
      return reclaimed;
    },
    wakeParked: async (options) => {
      const woken = wakeParked(tables, options);
      wakes.ready(woken);
      return woken.length;
    },
    expireDeferred: async (options) => {
      const ended = wakes.after(expireDeferred(tables, options)).sort((a, b) => compareText(a.id, b.id));
      wakes.admit({ runIds: ended.map(({ id }) => id) });
      return ended.map(({ id: runId, group: { program, stack } }) => {
        return { runId, program, stack, by: tables.deferred.get(runId)!.by };
      });
    },
    reviewMisfits: async (review) => wakes.after(reviewMisfits(tables, review)),
    unservedGroups: async (query) => unservedGroups(tables, query),
    findKey: async ({ env, scope, key }) => {
      const runId = tables.keys.get(joinKey(env, scope, key))?.runId;
      return runId !== undefined && tables.runs.has(runId) ? runId : null;
    },
    keyOf: async (runId) => keyOf(tables, runId),
    takeOutput: async (call, { tx } = {}) => takeOutput(tablesSeenBy(tables, tx), call, tables.nowUs()),
    setAttributes: async (change, { tx } = {}) => setAttributes(tablesSeenBy(tables, tx), change),
    ...stopOperations(tables, wakes),
    reconcile: async (scope) => wakes.after(reconcileTasks(tables, scope)),
    ...memoryRecords(tables),
    glance: async (runIds) => runIds.map((runId) => glance(tables, runId)),
    claims: async (runId, { limit }) => readClaims(tables, runId, limit),
    ...memoryRetention(tables),
    nextDue: async (groupIds, options) => nextDue(tables, groupIds, options?.recentMs),
    retry: async (runIds, options) => {
      // Runs that waited for a slot of these tasks get it before the run itself waits in line again.
      for (const row of busyRuns(tables, runIds, options)) wakes.after(leaveTasks(tables, row, options.by));
      return wakes.after(retryRuns(tables, runIds, options));
    },
  };
}

type Stops = "cancel" | "cancelTasks" | "stopping" | "pause" | "resume";

function stopOperations(tables: Tables, wakes: Wakes): Pick<RunStore, Stops> {
  return {
    cancel: async (runId, options) => {
      const before = tables.runs.get(runId)?.state;
      const answer = wakes.after(cancelRun(tables, runId, options, () => wakes.after(null)));
      // Its slots are free for other runs.
      if (answer.outcome === "cancelled" && before !== "cancelled") wakes.admit({ runIds: [runId] });
      wakes.asked(runId);
      return answer;
    },
    cancelTasks: async (runId, options) => {
      const running = wakes.after(cancelTasks(tables, runId, options));
      wakes.asked(runId);
      return running;
    },
    stopping: async (runId) => {
      wakes.asked(runId);
      return stopProgress(tables, runId);
    },
    pause: async (runId, { by }) => {
      const { answer, left } = pauseRun(tables, runId, by);
      wakes.asked(runId);
      wakes.admit({ runIds: left.map(({ id }) => id) });
      return answer;
    },
    resume: async (runId, { by }) => wakes.after(resumeRun(tables, runId, by)),
  };
}

function touchedBy({ claim, effects }: Commit): string[] {
  return [claim.runId, ...effects.flatMap((effect) => (effect.kind === "enqueue" ? effect.run.id : []))];
}

/** A transaction step: what it inserted and its journal entry become visible together. */
async function transact(tables: Tables, work: (tx: Transaction) => Promise<Commit>): Promise<CommitAnswer> {
  const tx = transactionOver(tables);
  const sealed = await work(tx).catch((error) => {
    tx.rollback();
    throw error;
  });
  // In one turn with the entry, and first: a conflict must leave nothing behind.
  if (accepts(tables, sealed)) tx.commit();
  else tx.rollback();
  return commit(tables, [sealed])[0]!;
}
