// Folds the journal of a graph run into its memory. Pure: an entry and a memory give the next memory, the first time
// and every time after a crash.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { StoredError } from "../kernel/codec/recorded-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { isFork } from "./fork-input.js";
import { frozen } from "./frozen.js";
import { decodeSnapshot, type Frame, Memory, type Rewind } from "./memory.js";
import { StateFailed } from "./needs-people.js";
import { type GraphPlan, planAt } from "./plan.js";
import {
  END,
  type FrameId,
  frameId,
  type NodePlace,
  type Position,
  parentOf,
  parsePosition,
  placeIn,
  positionOf,
  ROOT,
} from "./position.js";
import { type Fields, reduced } from "./reducer.js";
import { applyUpdate, forgetUpdate, type StateUpdate, UPDATE_REFUSED, UPDATED } from "./state-update.js";

/** Recorded when a node ends. `next` is set when its frame moves on: a branch has none. */
export interface NodeRecord {
  readonly update?: Fields | null;
  /** Where the update already is: in the entries of its items or branches. */
  readonly gather?: { readonly into: string; readonly count: number } | { readonly branches: readonly string[] };
  /** Set when a failure edge is taken. */
  readonly failure?: StoredError;
  readonly next?: Position;
  /** The message it waited for. */
  readonly took?: string;
}

/** Recorded when a graph inside a node begins. */
export interface FrameRecord {
  readonly state: Fields;
  readonly start: string;
}

export interface FoldOptions {
  readonly plan: GraphPlan;
  readonly codecs: Codecs;
  readonly runId: string;
  readonly baseSeq: number;
}

/** Entries from the start of the generation, or from a snapshot; `until` ends the fold early. */
export function fold(
  entries: readonly JournalEntry[],
  options: FoldOptions,
  until: (memory: Memory) => boolean = () => false,
): Memory {
  let memory = new Memory();
  const isRecorded = isBegunFirst(entries);
  for (const entry of entries) {
    memory = next(memory, entry, options, isRecorded);
    if (until(memory)) return memory;
  }
  return memory;
}

/** The first state is in the journal before any node built on it, so `init` need not run again. */
function isBegunFirst(entries: readonly JournalEntry[]): boolean {
  return entries.find(({ kind }) => FIRST_OF_ALL.includes(kind))?.kind === "begun";
}
const FIRST_OF_ALL: readonly string[] = ["begun", "node", "item", "frame", "node.failed", "item.failed"];

/** The memory after this entry; the memory before it may be modified. */
function next(
  memory: Memory,
  entry: JournalEntry,
  { plan, codecs, runId, baseSeq }: FoldOptions,
  isRecorded: boolean,
): Memory {
  const { kind, name, key, payload, at } = entry;
  const value = () => (payload ? codecs.decode(payload) : undefined);
  switch (kind) {
    case "start":
      return begin(plan, value(), at, isRecorded);
    case "snapshot":
      return decodeSnapshot(entry, runId, baseSeq, codecs);
    case "frame":
      enter(memory, { path: name, visit: key! }, value() as FrameRecord);
      return memory;
    case "node":
      leaveAgain(memory, plan, { path: name, visit: key! }, value() as NodeRecord);
      return memory;
    case "item":
      keep(memory, { path: name, visit: key! }, { value: value() });
      return memory;
    case "node.failed":
    case "item.failed":
      keep(memory, { path: name, visit: key! }, { error: value() as StoredError });
      return memory;
    case "node.tried":
    case "item.tried":
      memory.progressCounts.delete(frameId({ path: name, visit: key! }));
      memory.calls.push(entry);
      return memory;
    case "approval.begun":
    case "wait.begun":
    case "wait.expired":
      memory.calls.push(entry);
      return memory;
    case "take":
      // A message whose commit was repeated may follow the snapshot that already contains it.
      if (!memory.mail.some((one) => one.key === key)) memory.mail.push(entry);
      return memory;
    case "begun":
      return begun(memory, value() as FrameRecord);
    case UPDATED:
      applyUpdate(memory, plan, key!, value() as StateUpdate);
      return memory;
    case UPDATE_REFUSED:
      forgetUpdate(memory, key!);
      return memory;
    case "spent":
      spend(memory, value() as Readonly<Record<string, number>>);
      return memory;
    case "progress":
      countProgress(memory, frameId({ path: name, visit: key!.slice(0, key!.indexOf(":")) }));
      return memory;
    case "retried":
      return reopen(memory, at, value() as { readonly rewind?: Rewind } | undefined);
    default:
      return memory;
  }
}

/** A run as it was started. A fork has no state here yet: its state is written before it does anything. */
function begin(plan: GraphPlan, input: unknown, at: number, isRecorded: boolean): Memory {
  const memory = new Memory();
  memory.since = at;
  if (isRecorded || isFork(input)) return memory;
  try {
    enter(memory, ROOT, { state: plan.init(input), start: plan.start });
  } catch (error) {
    throw new StateFailed("init", error);
  }
  return memory;
}

/** Restores the recorded first state; has no effect once a node has built on it. */
function begun(memory: Memory, record: FrameRecord): Memory {
  memory.begun = true;
  if (memory.recorded === 0 && memory.results.size === 0) enter(memory, ROOT, record);
  return memory;
}

export function enter(memory: Memory, place: NodePlace, { state, start }: FrameRecord): void {
  const frame: Frame = {
    state: frozen(state),
    at: positionOf(start, 1),
    visits: { [start]: 1 },
    moves: 0,
    failure: null,
  };
  memory.frames.set(frameId(place), frame);
}

/** A node has ended: its frame moves on with its update, or its result waits for the parallel ones. */
export function leave(memory: Memory, plan: GraphPlan, place: NodePlace, record: NodeRecord): void {
  const { next: position, took, failure } = record;
  if (took !== undefined) memory.mail = memory.mail.filter(({ key }) => key !== took);
  if (position === undefined) {
    memory.forget(place, { results: false });
    keep(memory, place, { value: record });
    return;
  }
  const { frame: outer, node } = parentOf(place);
  const id: FrameId = frameId(outer);
  const frame = memory.frames.get(id)!;
  const reducers = planAt(plan, outer.path)?.reducers ?? {};
  let state = frame.state;
  for (const update of updatesOf(memory, place, record)) state = reduced(reducers, state, update);
  memory.forget(place, { results: true });
  const visits = position === END ? frame.visits : arrived(frame.visits, position);
  const failed = failure ? { node, error: failure } : null;
  memory.frames.set(id, { state, at: position, visits, moves: frame.moves + 1, failure: failed });
  memory.iterations++;
  memory.recorded++;
}

/** A recorded update was accepted once; code changed since may no longer accept it. */
function leaveAgain(memory: Memory, plan: GraphPlan, place: NodePlace, record: NodeRecord): void {
  try {
    leave(memory, plan, place, record);
  } catch (error) {
    throw new StateFailed("reducer", error);
  }
}

/** The updates of an ended node, in the order in which they are applied. */
export function updatesOf(memory: Memory, place: NodePlace, { update, gather }: NodeRecord): readonly Fields[] {
  if (!gather) return update ? [update] : [];
  if ("into" in gather) {
    const results = Array.from({ length: gather.count }, (_, i) => {
      const result = memory.results.get(frameId({ path: place.path, visit: `${place.visit}.${i}` }));
      return result && "value" in result ? result.value : undefined;
    });
    return [{ [gather.into]: results }];
  }
  return gather.branches.flatMap((branch) => {
    const inner = placeIn(place, branch, 1);
    const result = memory.results.get(frameId(inner));
    return result && "value" in result ? updatesOf(memory, inner, result.value as NodeRecord) : [];
  });
}

export function keep(memory: Memory, place: NodePlace, result: { value: unknown } | { error: StoredError }): void {
  memory.results.set(frameId(place), { place, ...result });
}

export function spend(memory: Memory, amounts: Readonly<Record<string, number>>): void {
  for (const [budget, amount] of Object.entries(amounts)) memory.spent[budget] = (memory.spent[budget] ?? 0) + amount;
}

export function countProgress(memory: Memory, node: string): void {
  memory.progressCounts.set(node, (memory.progressCounts.get(node) ?? 0) + 1);
}

/** An operator retried the run: failed work is repeated, completed work is kept. */
function reopen(memory: Memory, at: number, note: { readonly rewind?: Rewind } | undefined): Memory {
  memory.since = at;
  memory.calls = memory.calls.filter(({ kind }) => !kind.endsWith(".tried"));
  for (const [id, result] of memory.results) if ("error" in result) memory.results.delete(id);
  memory.rewind = note?.rewind ?? null;
  return memory;
}

function arrived(visits: Frame["visits"], position: Position): Frame["visits"] {
  const { node, visit } = parsePosition(position);
  return { ...visits, [node]: visit };
}
