// The operations on runs, joined.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { RunStore } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import { claim } from "../claim/claim-runs.js";
import { commit } from "../claim/commit.js";
import { claimReads } from "../claim/read-claims.js";
import { expiry } from "../claim/reclaim-expired.js";
import { recovery } from "../claim/recover-runs.js";
import { renewals } from "../claim/renew-claims.js";
import type { Database } from "../connection/database.js";
import type { WakeSender } from "../connection/wake-sender.js";
import { wakeUps } from "../inbox/wake-parked.js";
import { glances } from "../journal/peek-journals.js";
import { outputOperations } from "../key/output-keys.js";
import { keyReads } from "../key/run-keys.js";
import { admissions, admitAfter } from "../limit/admit-runs.js";
import { isLimited } from "../limit/limit-columns.js";
import { declare, limitsOf } from "../limit/program-limits.js";
import { reconciliation } from "../task/reconcile-tasks.js";
import { cancels } from "./cancel-run.js";
import { deferrals } from "./deferred-runs.js";
import type { Groups } from "./groups.js";
import { insert } from "./insert-batch.js";
import { isPlain } from "./insert-runs.js";
import { records } from "./list-runs.js";
import { dueTimes } from "./next-due.js";
import { pauses } from "./pause-run.js";
import { retention } from "./retain-runs.js";
import { retries } from "./retry-runs.js";
import { reviews } from "./review-misfits.js";
import { attributeOperations } from "./run-attributes.js";
import { stopRequests } from "./stop-requests.js";
import { transactions } from "./transact.js";

/** Each file has the operations of one part of the contract: another one in a file needs no line here. */
const ON_DATABASE = {
  ...admissions,
  ...claimReads,
  ...renewals,
  ...expiry,
  ...recovery,
  ...reviews,
  ...deferrals,
  ...attributeOperations,
  ...keyReads,
  ...outputOperations,
  ...wakeUps,
  ...cancels,
  ...pauses,
  ...stopRequests,
  ...reconciliation,
  ...records,
  ...glances,
  ...retention,
  ...dueTimes,
  ...retries,
  ...transactions,
};

export function runStore(db: Database, groups: Groups, wakes: WakeSender): RunStore {
  const insertAlone = async (runs: readonly NewRun[]) => {
    const behind = runs.every(isPlain) ? wakes.behind(await groups.ids(runs.map(({ group }) => group))) : null;
    const answers = await insert(db, groups, runs, { behind });
    // The first connection may have shown that there is a pooler.
    if (behind && db.pipelined) return answers;
    const held = runs.filter((run, i) => answers[i]!.outcome === "inserted" && isLimited(run));
    await admitAfter(db, [...new Set(held.map(({ id }) => id))]);
    wakes.send(await groups.idsOf(runs, answers));
    return answers;
  };
  const insertIn = async (tx: Transaction, runs: readonly NewRun[]) => {
    const answers = await insert(db, groups, runs, { tx });
    await wakes.sendInTransaction(tx, await groups.idsOf(runs, answers), runs.some(isLimited));
    return answers;
  };
  return {
    ...onDatabase(db, { claim, ...ON_DATABASE }),
    groupIds: (wanted) => groups.declared(wanted),
    declare: (incarnation, programs) => declare(db, groups, incarnation, programs),
    limitsOf: (group) => limitsOf(db, groups, group),
    insert: (runs, { tx } = {}) => (tx ? insertIn(tx, runs) : insertAlone(runs)),
    commit: (commits) => commit(db, groups, commits),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments; `never[]` would lose the names of optional ones.
type Functions = Readonly<Record<string, (db: Database, ...args: any[]) => Promise<unknown>>>;
type Bound<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends (db: Database, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

/** Makes operations of the contract from functions that take the database first. */
function onDatabase<Of extends Functions>(db: Database, functions: Of): Bound<Of> {
  const bound = Object.entries(functions).map(([name, run]) => [name, (...args: unknown[]) => run(db, ...args)]);
  return Object.fromEntries(bound) as Bound<Of>;
}
