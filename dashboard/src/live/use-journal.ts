// The journal of a run as pages need it: the first and the last entries at once, the middle on demand, new ones as they come.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiRefusal, call } from "./api.js";
import { holeIn, merged } from "./journal-parts.js";
import type { Entry } from "./model.js";

export interface JournalView {
  readonly entries: readonly Entry[];
  /** How many entries between the first and the last are not read yet. */
  readonly missing: number;
  readonly error: ApiRefusal | null;
  readonly loaded: boolean;
  /** The last entry of the first read; null before it. */
  readonly readTo: number | null;
  readonly readMiddle: () => Promise<void>;
  /** Reads what was written since. */
  readonly readOn: () => Promise<void>;
  readonly append: (entries: readonly Entry[]) => void;
}

const PART = 200;

export function useJournal(id: string | null): JournalView {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [loaded, setLoaded] = useState(false);
  const [readTo, setReadTo] = useState<number | null>(null);
  const [error, setError] = useState<ApiRefusal | null>(null);
  const asked = useRef(id);
  asked.current = id;
  const add = (more: readonly Entry[]) => setEntries((old) => merged(old, more));

  useEffect(() => {
    if (id === null) return;
    setEntries([]);
    setLoaded(false);
    setReadTo(null);
    readEnds(id).then(
      (both) => {
        if (asked.current !== id) return;
        add(both);
        setReadTo(both.at(-1)?.seq ?? 0);
        setLoaded(true);
      },
      (problem) => setError(problem instanceof ApiRefusal ? problem : new ApiRefusal(0, { message: String(problem) })),
    );
  }, [id]);

  const hole = holeIn(entries);
  const readMiddle = async () => {
    if (id === null || hole === null) return;
    const page = await call("runs.journal", { id, after: hole.after, limit: 500 });
    add(page.entries);
  };
  const readOn = async () => {
    const after = entries.at(-1)?.seq ?? 0;
    if (id !== null) add((await call("runs.journal", { id, after, limit: 500 })).entries);
  };
  return { entries, missing: hole?.missing ?? 0, error, loaded, readTo, readMiddle, readOn, append: add };
}

async function readEnds(id: string): Promise<readonly Entry[]> {
  const first = await call("runs.journal", { id, limit: PART });
  const lastRead = first.entries.at(-1)?.seq ?? 0;
  if (lastRead >= first.seq) return first.entries;
  const last = await call("runs.journal", { id, last: true, limit: PART });
  return [...first.entries, ...last.entries];
}
