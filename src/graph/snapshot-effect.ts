// The journal entry with a run's whole memory.

import type { Codecs } from "../kernel/codec/codecs.js";
import { LimitExceeded } from "../kernel/error.js";
import type { AppendEffect } from "../kernel/run/effect.js";
import { encodeSnapshot, type Memory } from "./memory.js";

/**
 * Null when the state is larger than a value may be: the run continues, and recovery reads back to the last snapshot
 * that fitted.
 */
export function snapshotEffect(memory: Memory, codecs: Codecs): AppendEffect | null {
  try {
    return snapshot(memory, codecs, "");
  } catch (error) {
    if (error instanceof LimitExceeded) return null;
    throw error;
  }
}

/** Records where the run begins, or where it was rewound to: nothing else in its journal says so. */
export function beginsEffect(memory: Memory, codecs: Codecs): AppendEffect {
  return snapshot(memory, codecs, "begins");
}

function snapshot(memory: Memory, codecs: Codecs, name: "" | "begins"): AppendEffect {
  return { kind: "append", entry: { kind: "snapshot", name, payload: encodeSnapshot(memory, codecs) } };
}
