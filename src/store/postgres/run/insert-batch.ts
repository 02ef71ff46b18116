// Inserts a batch of runs, each once: those with a dedupe key apart from those without.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import type { Database, RunOptions } from "../connection/database.js";
import type { KeyedRun } from "../key/run-keys.js";
import type { Groups } from "./groups.js";
import { insertKeyed } from "./insert-keyed-runs.js";
import { insertPlain, type Places } from "./insert-runs.js";

/** `behind`: of a batch of plain runs, sent right behind it. */
type InsertOptions = Pick<RunOptions, "tx" | "behind">;

/** Inserts a batch; of runs with one id the first counts. Without a transaction of the caller's, it may be repeated. */
export async function insert(
  db: Database,
  groups: Groups,
  runs: readonly NewRun[],
  options: InsertOptions = {},
): Promise<readonly InsertAnswer[]> {
  const first = new Map<string, NewRun>();
  for (const run of runs) if (!first.has(run.id)) first.set(run.id, run);
  if (first.size === runs.length) return send(db, groups, runs, options);
  const once = [...first.values()];
  const sent = await send(db, groups, once, options);
  const answers = new Map(once.map((run, i) => [run.id, sent[i]!]));
  return runs.map((run) => answers.get(run.id)!);
}

async function send(
  db: Database,
  groups: Groups,
  runs: readonly NewRun[],
  options: InsertOptions,
): Promise<InsertAnswer[]> {
  // Asked again for every attempt of a statement: the numbers of groups are the server's.
  const places = async (): Promise<Places> => {
    const groupIds = await groups.ids(runs.map((run) => run.group));
    return new Map(runs.map((run, i) => [run, { run, group: groupIds[i]!, position: i }]));
  };
  const plain = runs.filter((run) => !run.key);
  const keyed = runs.filter((run): run is KeyedRun => run.key !== undefined);
  if (plain.length > 0) await insertPlain(db, plain, places, options);
  const taken = await insertKeyed(db, keyed, places, options.tx);
  return runs.map((run) => taken.get(run) ?? { outcome: "inserted", runId: run.id });
}
