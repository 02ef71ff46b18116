// Parts of a journal that were read one by one, put together. Pure.

import type { Entry } from "./model.js";

/** By sequence, each once. */
export function merged(old: readonly Entry[], more: readonly Entry[]): readonly Entry[] {
  const bySeq = new Map([...old, ...more].map((entry) => [entry.seq, entry]));
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

export function holeIn(
  entries: readonly Pick<Entry, "seq">[],
): { readonly after: number; readonly missing: number } | null {
  for (let i = 1; i < entries.length; i++) {
    const [before, here] = [entries[i - 1] as Entry, entries[i] as Entry];
    if (here.seq > before.seq + 1) return { after: before.seq, missing: here.seq - before.seq - 1 };
  }
  return null;
}
