// Finds the run that a command names by its id, or by the beginning of one.

import { RunUnknown } from "../client/run-handle.js";
import { isUuid } from "../kernel/id.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import { CommandMisused, RunAmbiguous } from "./error.js";

const SHORTEST_PREFIX = 8;
const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export async function findRun(store: Store, env: string, text: string): Promise<RunRecord> {
  const wanted = text.toLowerCase();
  const highest = wanted + HIGHEST_ID.slice(wanted.length);
  if (wanted.length < SHORTEST_PREFIX || !isUuid(highest)) {
    throw new CommandMisused(
      `${JSON.stringify(text)} is no run id: a UUID, or at least the first ${SHORTEST_PREFIX} characters of one`,
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

/** At most two of the live and two of the archived ones: lists go by id, so each is a short walk on the primary key. */
async function startingWith(store: Store, env: string, prefix: string, highest: string): Promise<RunRecord[]> {
  const pages = await Promise.all(
    [false, true].map((archived) => store.runs.list({ env, archived }, { limit: 2, before: highest })),
  );
  return pages.flatMap(({ runs }) => runs).filter(({ id }) => id.startsWith(prefix));
}
