// A checkpoint: the state of a strategy as a journal entry, with the version it was written in.
//
// Entries before the last checkpoint are not replayed. A run whose checkpoint this code cannot read is left to other
// code: started over, it would repeat all its work.

import type { Codecs } from "../kernel/codec/codecs.js";
import { HoldfastError } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Spent } from "./budget.js";
import { DEFINITION } from "./named-strategy.js";
import type { Checkpoints } from "./strategy.js";

export const CHECKPOINT = "checkpoint";

export interface Checkpoint {
  readonly version: number;
  readonly state: unknown;
  readonly spent: Spent;
  /** Moves so far: the keys of its steps continue from here. */
  readonly moves: number;
  /** Number of calls by kind and name: default keys continue from here. */
  readonly asked: readonly (readonly [string, number])[];
  /** By signal: how many messages were consumed. The others are still unread. */
  readonly consumed: readonly (readonly [string, number])[];
}

/** This code cannot read the stored checkpoint. The journal is unchanged: the run is left to a node with code that can read its checkpoint. */
export class CheckpointUnreadable extends HoldfastError {
  readonly code = "CHECKPOINT_UNREADABLE";

  constructor(version: number, current: number, problem: string, options?: { cause: unknown }) {
    super(
      `The checkpoint was written in version ${version}; this code has version ${current}: ${problem}. ` +
        "The run continues on a node with code that can read it.",
      options,
    );
  }
}

export interface Split {
  readonly checkpoint: Checkpoint | null;
  /** The start, the definition it began with, messages not yet consumed, and the entries after the checkpoint. */
  readonly log: readonly JournalEntry[];
}

export function splitAtCheckpoint(log: readonly JournalEntry[], codecs: Codecs): Split {
  const at = log.findLastIndex(({ kind }) => kind === CHECKPOINT);
  if (at < 0) return { checkpoint: null, log };
  const checkpoint = codecs.decode(log[at]!.payload!) as Checkpoint;
  const consumed = new Map(checkpoint.consumed);
  const kept = log.slice(1, at).filter(({ kind, key, name }) => {
    if (kind === "value" && name === DEFINITION) return true;
    if (kind !== "take" || !key?.startsWith("signal:")) return false;
    const left = consumed.get(name) ?? 0;
    consumed.set(name, left - 1);
    return left <= 0;
  });
  return { checkpoint, log: [log[0]!, ...kept, ...log.slice(at + 1)] };
}

/** The state, migrated to this code's version. */
export function migrated({ version, state }: Checkpoint, { version: current, migrate = {} }: Checkpoints): unknown {
  if (version > current) throw new CheckpointUnreadable(version, current, "the checkpoint is newer");
  let reached = state;
  for (let from = version; from < current; from++) {
    const step = migrate[from];
    if (!step) throw new CheckpointUnreadable(version, current, `there is no migration from version ${from}`);
    try {
      reached = step(reached);
    } catch (cause) {
      throw new CheckpointUnreadable(version, current, `the migration from version ${from} failed`, { cause });
    }
  }
  return reached;
}
