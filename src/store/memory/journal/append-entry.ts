// Appends one entry to a run's journal: the run's sequence and the journal grow together.

import type { Payload } from "../../../kernel/codec/payload.js";
import { copyPayload } from "../table/payload.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export interface NewEntry {
  readonly kind: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: Payload | null;
}

/** Epoch 0 and no token: written by the store itself. */
const NO_CLAIM = { epoch: 0, token: null } as const;

export function appendEntry(
  tables: Tables,
  row: RunRow,
  entry: NewEntry & { readonly claim?: { readonly epoch: number; readonly token: string } },
  atUs: number,
): void {
  const seq = row.seq + 1;
  let log = tables.journal.get(row.id);
  if (!log) {
    log = new Map();
    tables.journal.set(row.id, log);
  }
  const { epoch, token } = entry.claim ?? NO_CLAIM;
  const { kind, name, key } = entry;
  log.set(seq, { seq, epoch, token, kind, name, key, payload: copyPayload(entry.payload), atUs });
  row.seq = seq;
}
