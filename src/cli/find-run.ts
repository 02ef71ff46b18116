// Finds a run by its id, or by the beginning of its id.

import { RunUnknown } from "../client/run-handle.js";
import { isUuid } from "../kernel/id.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import type { Call } from "./command.js";
import { CommandMisused, RunAmbiguous } from "./error.js";

const SHORTEST_PREFIX = 8;
const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export async function findRun({ store: open, env }: Pick<Call, "store" | "env">, text: string): Promise<RunRecord> {
  const store = await open();
  const wanted = text.toLowerCase();
  const highest = wanted + HIGHEST_ID.slice(wanted.length);
  if (wanted.length < SHORTEST_PREFIX || !isUuid(highest)) {
    throw new CommandMisused(
      `${JSON.stringify(text)} is not a run id: give a UUID, or at least its first ${SHORTEST_PREFIX} characters`,
    );
  }
  if (isUuid(wanted)) {
    const run = await store.runs.get(wanted);
    if (run) return run;
    throw new RunUnknown(wanted);
  }
  const [run, second] = await startingWith(store, env, wanted, highest);
  if (run && second) throw new RunAmbiguous(wanted, [run.id, second.id]);
  if (run) return run;
  throw new RunUnknown(`that begins with ${wanted} in env ${env}`);
}

/**
 * Reads at most two live and two archived runs: lists are ordered by id, so each is a short scan of the primary key.
 */
async function startingWith(store: Store, env: string, prefix: string, highest: string): Promise<RunRecord[]> {
  const pages = await Promise.all(
    [false, true].map((archived) => store.runs.list({ env, archived }, { limit: 2, before: highest })),
  );
  return pages.flatMap(({ runs }) => runs).filter(({ id }) => id.startsWith(prefix));
}
