// Inserts a batch of runs, each once: those with a dedupe key apart from those without.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import type { KeyedRun } from "../key/run-keys.js";
import type { Groups } from "./groups.js";
import { insertKeyed } from "./insert-keyed-runs.js";
import { insertPlain, type Places } from "./insert-runs.js";

/** Inserts a batch; of runs with one id the first counts. Without a transaction of the caller's, it may be repeated. */
export async function insert(
  db: Database,
  groups: Groups,
  runs: readonly NewRun[],
  tx?: Transaction,
): Promise<readonly InsertAnswer[]> {
  const first = new Map<string, NewRun>();
  for (const run of runs) if (!first.has(run.id)) first.set(run.id, run);
  if (first.size === runs.length) return send(db, groups, runs, tx);
  const once = [...first.values()];
  const sent = await send(db, groups, once, tx);
  const answers = new Map(once.map((run, i) => [run.id, sent[i]!]));
  return runs.map((run) => answers.get(run.id)!);
}

async function send(db: Database, groups: Groups, runs: readonly NewRun[], tx?: Transaction): Promise<InsertAnswer[]> {
  // Asked again for every attempt of a statement: the numbers of groups are the server's.
  const places = async (): Promise<Places> => {
    const groupIds = await groups.ids(runs.map((run) => run.group));
    return new Map(runs.map((run, i) => [run, { run, group: groupIds[i]!, position: i }]));
  };
  const plain = runs.filter((run) => !run.key);
  const keyed = runs.filter((run): run is KeyedRun => run.key !== undefined);
  if (plain.length > 0) await insertPlain(db, plain, places, tx);
  const taken = await insertKeyed(db, keyed, places, tx);
  return runs.map((run) => taken.get(run) ?? { outcome: "inserted", runId: run.id });
}
