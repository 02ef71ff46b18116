// The operations on runs, joined.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { RunStore } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import { claim } from "../claim/claim-runs.js";
import { commit } from "../claim/commit.js";
import { claims } from "../claim/read-claims.js";
import { reclaimExpiredRuns } from "../claim/reclaim-expired.js";
import { orphans, recover } from "../claim/recover-runs.js";
import { renew } from "../claim/renew-claims.js";
import type { Database } from "../connection/database.js";
import type { WakeSender } from "../connection/wake-sender.js";
import { wake } from "../inbox/wake-parked.js";
import { glance } from "../journal/peek-journals.js";
import { admit, admitAfter } from "../limit/admit-runs.js";
import { isLimited } from "../limit/limit-columns.js";
import { declare, limitsOf } from "../limit/program-limits.js";
import { reconcile } from "../task/reconcile-tasks.js";
import { cancel, cancelTasksOf } from "./cancel-run.js";
import { expireDeferred, keyOf, unservedGroups } from "./deferred-runs.js";
import type { Groups } from "./groups.js";
import { insert } from "./insert-batch.js";
import { count, get, list } from "./list-runs.js";
import { next } from "./next-due.js";
import { pause, resume } from "./pause-run.js";
import { archive, prune } from "./retain-runs.js";
import { retry } from "./retry-runs.js";
import { reviewMisfits } from "./review-misfits.js";
import { stopping } from "./stop-requests.js";
import { transact } from "./transact.js";

export function runStore(db: Database, groups: Groups, wakes: WakeSender): RunStore {
  const insertAlone = async (runs: readonly NewRun[]) => {
    const answers = await insert(db, groups, runs);
    const held = runs.filter((run, i) => answers[i]!.outcome === "inserted" && isLimited(run));
    await admitAfter(db, [...new Set(held.map(({ id }) => id))]);
    wakes.send(await groups.idsOf(runs, answers));
    return answers;
  };
  const insertIn = async (tx: Transaction, runs: readonly NewRun[]) => {
    const answers = await insert(db, groups, runs, tx);
    await wakes.sendInTransaction(tx, await groups.idsOf(runs, answers), runs.some(isLimited));
    return answers;
  };
  return {
    groupIds: (wanted) => groups.declared(wanted),
    declare: (incarnation, programs) => declare(db, groups, incarnation, programs),
    limitsOf: (group) => limitsOf(db, groups, group),
    insert: (runs, { tx } = {}) => (tx ? insertIn(tx, runs) : insertAlone(runs)),
    admit: (whom) => admit(db, whom),
    claim: (request) => claim(db, request),
    renew: (claims, leaseMs) => renew(db, claims, leaseMs),
    commit: (commits) => commit(db, groups, commits),
    reclaimExpired: (options) => reclaimExpiredRuns(db, options),
    orphans: (filter) => orphans(db, filter),
    recover: (decisions, options) => recover(db, decisions, options),
    reviewMisfits: (review) => reviewMisfits(db, review),
    expireDeferred: ({ env, limit }) => expireDeferred(db, env, limit),
    unservedGroups: (query) => unservedGroups(db, query),
    keyOf: (runId) => keyOf(db, runId),
    wakeParked: ({ limit }) => wake(db, limit),
    cancel: (runId, { by, reason }) => cancel(db, runId, by, reason),
    cancelTasks: (runId, { by, reason }) => cancelTasksOf(db, runId, by, reason),
    pause: (runId, { by }) => pause(db, runId, by),
    resume: (runId, { by }) => resume(db, runId, by),
    stopping: (runId) => stopping(db, runId),
    reconcile: (scope) => reconcile(db, scope),
    get: (runId) => get(db, runId),
    glance: (runIds) => glance(db, runIds),
    claims: (runId, { limit }) => claims(db, runId, limit),
    list: (filter, page) => list(db, filter, page),
    count: (filter) => count(db, filter),
    archive: (age) => archive(db, age),
    prune: (age) => prune(db, age),
    nextDue: (groupIds) => next(db, groupIds),
    retry: (runIds, options) => retry(db, runIds, options),
    transact: (work) => transact(db, work),
  };
}
