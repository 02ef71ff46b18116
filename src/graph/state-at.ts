// The state of a graph run, now or when it arrived at a node: computed from its journal by the graph's own reducers.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { JournalEntry, JournalPage } from "../store/contract/journal/journal.js";
import { type FoldOptions, fold } from "./fold.js";
import { isFork } from "./fork-input.js";
import type { Memory } from "./memory.js";
import type { GraphPlan } from "./plan.js";
import { frameId, isWithin, parentOf, placeOf, positionsIn, standingAt } from "./position.js";
import type { Fields } from "./reducer.js";
import { applyUpdate, type StateUpdate, UPDATED } from "./state-update.js";

export interface StateAt {
  /** Like `plan:2`, or `end`. */
  readonly position: string;
  readonly state: Fields;
  /** The states of subgraphs in progress, by path and visits: `research:1`. */
  readonly inner: Readonly<Record<string, Fields>>;
}

interface Asked {
  readonly runId: string;
  readonly plan: GraphPlan;
  readonly codecs: Codecs;
  /** Undefined: the current position. */
  readonly at: string | undefined;
}

/** Null: the run never arrived there, or it is a fork that has not begun. */
export function stateAt({ entries, baseSeq }: JournalPage, { runId, plan, codecs, at }: Asked): StateAt | null {
  const start = entries[0]!;
  if (entries.length === 1 && isFork(codecs.decode(start.payload!))) return null;
  const options = { plan, codecs, runId, baseSeq };
  const memory = at === undefined ? fold(entries, options) : arriving(entries, at, options);
  const frame = memory?.frames.get("");
  if (!memory || !frame) return null;
  const inner = [...memory.frames].filter(([id]) => id !== "").map(([id, { state }]) => [id, state] as const);
  return { position: frame.at, state: frame.state, inner: Object.fromEntries(inner) };
}

/**
 * The memory with which the run began the visit; null if it never arrived there. Updates from outside count until a node of its step has
 * ended, and the run has not been rewound from it.
 */
export function arriving(entries: readonly JournalEntry[], position: string, options: FoldOptions): Memory | null {
  let read = 0;
  const place = placeOf(position);
  const { frame, position: at } = standingAt(place);
  const isThere = (memory: Memory) => {
    const now = memory.frames.get(frameId(frame))?.at;
    return now !== undefined && (now === at || positionsIn(now).includes(at));
  };
  const memory = fold(entries, options, (now) => {
    read++;
    return isThere(now);
  });
  if (!isThere(memory)) return null;
  const { plan, codecs } = options;
  for (const { kind, name, key, payload } of entries.slice(read)) {
    if (kind === "snapshot" && name === "begins") break;
    if (kind === UPDATED) applyUpdate(memory, plan, key!, codecs.decode(payload!) as StateUpdate);
    if (kind !== "node") continue;
    const ended = { path: name, visit: key! };
    if (frameId(parentOf(ended).frame) === frameId(frame) || isWithin(place, ended)) break;
  }
  if (memory.problem) throw memory.problem;
  return memory;
}
