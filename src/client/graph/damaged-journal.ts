// Finds what is left of a damaged journal: the last snapshot behind its last gap.

import { HoldfastError } from "../../kernel/error.js";
import { JournalCorrupt, type JournalEntry } from "../../store/contract/journal/journal.js";
import type { Store } from "../../store/contract/store.js";
import { RunUnknown } from "../run-handle.js";

/** The journal has no gap, or no snapshot behind it. */
export class NoSnapshot extends HoldfastError {
  readonly code = "NO_SNAPSHOT";

  constructor(runId: string, missingSeq: number | null) {
    super(
      missingSeq === null
        ? `The journal of run ${runId} is whole. Retry or rewind the run instead.`
        : `The journal of run ${runId} has no snapshot behind its gap at ${missingSeq}. Restore the entry from a backup.`,
    );
  }
}

/** The number of the snapshot's entry. */
export async function snapshotBehindGap(store: Store, runId: string): Promise<number> {
  for (let gap = 0; ; ) {
    const read = await readAfter(store, runId, gap);
    if (read instanceof JournalCorrupt) {
      gap = read.missingSeq;
      continue;
    }
    const found = read.findLast(({ kind }) => kind === "snapshot");
    if (gap === 0 || !found) throw new NoSnapshot(runId, gap === 0 ? null : gap);
    return found.seq;
  }
}

async function readAfter(
  store: Store,
  runId: string,
  after: number,
): Promise<readonly JournalEntry[] | JournalCorrupt> {
  try {
    const page = await store.journal.read(runId, { after });
    if (!page) throw new RunUnknown(runId);
    return page.entries;
  } catch (error) {
    if (error instanceof JournalCorrupt) return error;
    throw error;
  }
}
