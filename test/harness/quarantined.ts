// Why a run is quarantined, for tests that wait until it is.

import type { Store } from "../../src/store/contract/store.js";

/** The code of the error in its last entry; null while it is not quarantined. */
export async function quarantinedWith(store: Store, runId: string): Promise<string | null> {
  const run = await store.runs.get(runId);
  if (run?.state !== "quarantined") return null;
  const page = await store.journal.read(runId, { after: run.seq - 1 });
  return (JSON.parse(page!.entries.at(-1)!.payload!.data) as { code: string }).code;
}
