// Folds the journal of a graph run into its memory. Pure: an entry and a memory give the next memory, the first time
// and every time after a crash.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { StoredError } from "../kernel/codec/recorded-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { passed } from "./breakpoint.js";
import { isFork } from "./fork-input.js";
import { frozen } from "./frozen.js";
import { decodeSnapshot, type Frame, Memory, type Rewind } from "./memory.js";
import { StateFailed } from "./needs-people.js";
import { type GraphPlan, planAt } from "./plan.js";
import {
  type FrameId,
  frameId,
  type NodePlace,
  type Position,
  parentOf,
  parsePosition,
  placeIn,
  placeOf,
  placesIn,
  positionOf,
  positionsIn,
  ROOT,
  standingAt,
  stepOf,
} from "./position.js";
import { type Fields, reduced } from "./reducer.js";
import { type Breakpoints, givenInput, isStart } from "./start-input.js";
import {
  applyUpdate,
  forgetUpdate,
  type HeldUpdate,
  type StateUpdate,
  UPDATE_HELD,
  UPDATE_REFUSED,
  UPDATED,
} from "./state-update.js";

/** Recorded when a node ends. `next` is set when its frame moves on: a branch has none. */
export interface NodeRecord {
  readonly update?: Fields | null;
  /** Where the update already is: in the entries of its items or branches. */
  readonly gather?: { readonly into: string; readonly count: number } | { readonly branches: readonly string[] };
  /** Its function was not called: the result was in the cache. */
  readonly cached?: boolean;
  /** Set when a failure edge is taken. */
  readonly failure?: StoredError;
  readonly next?: Position;
  /** Set when it ran side by side with others: the step, like `a:1,b:2`, which ends with the last of them. */
  readonly step?: Position;
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
  /** The name of the graph, where a thread may have to be read. */
  readonly program?: string;
}

/**
 * Entries from the start of the generation, or from a snapshot; `until` ends the fold early. A run that is being rewound needs no more
 * than its visits and what it has spent: an update that no reducer takes does not keep it from being rewound to before it.
 */
export function fold(
  entries: readonly JournalEntry[],
  options: FoldOptions,
  until: (memory: Memory) => boolean = () => false,
): Memory {
  let memory = new Memory();
  const isRecorded = isBegunFirst(entries);
  for (const entry of entries) {
    memory = next(memory, entry, options, isRecorded);
    if (until(memory)) break;
  }
  if (memory.problem && !memory.rewind) throw memory.problem;
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
      leave(memory, plan, { path: name, visit: key! }, value() as NodeRecord);
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
    case "breakpoints":
      memory.breakpoints = value() as Breakpoints;
      forgetUpdate(memory, key!);
      return memory;
    case "breakpoint":
      passed(memory, { path: name, visit: key! });
      return memory;
    case UPDATED:
      applyUpdate(memory, plan, key!, value() as StateUpdate);
      return memory;
    case UPDATE_HELD:
      memory.busyAt = (value() as HeldUpdate).at;
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
  const { breakpoints = null, thread = null } = isStart(input) ? input["~start"] : {};
  Object.assign(memory, { breakpoints, thread });
  if (isRecorded || isFork(input) || thread !== null) return memory;
  try {
    enter(memory, ROOT, { state: plan.init(givenInput(input)), start: plan.start });
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
    visited: visited(memory, frameId(place)),
  };
  memory.frames.set(frameId(place), frame);
}

/**
 * A node has ended: its frame moves on with its update, or its result waits for the parallel ones. What no reducer takes is the memory's
 * `problem`.
 */
export function leave(memory: Memory, plan: GraphPlan, place: NodePlace, record: NodeRecord): void {
  const { next: position, took } = record;
  if (took !== undefined) memory.mail = memory.mail.filter(({ key }) => key !== took);
  if (position === undefined) {
    memory.forget(place, { results: false });
    keep(memory, place, { value: record });
    return;
  }
  const outer = parentOf(place).frame;
  const frame = memory.frames.get(frameId(outer))!;
  memory.iterations++;
  memory.recorded++;
  const nodes = placesIn(outer, frame.at);
  if (nodes.length <= 1) {
    move(memory, plan, outer, [{ place, record }]);
    return;
  }
  memory.forget(place, { results: false });
  keep(memory, place, { value: record });
  const ended = nodes.map((one) => ({ place: one, result: memory.results.get(frameId(one)) }));
  if (ended.some(({ result }) => !result || !("value" in result))) return;
  const records = ended.map((one) => ({ place: one.place, record: (one.result as { value: NodeRecord }).value }));
  move(memory, plan, outer, records);
}

/** The frame moves on when all nodes of its step have ended: their updates count in the order of the step. */
function move(memory: Memory, plan: GraphPlan, outer: NodePlace, ended: readonly Ended[]): void {
  const id: FrameId = frameId(outer);
  const frame = memory.frames.get(id)!;
  const state = stateAfter(memory, plan, outer, ended);
  for (const { place } of ended) memory.forget(place, { results: true });
  const at = stepOf(ended.map(({ record }) => record.next!));
  const failures = failuresOf(ended);
  memory.frames.set(id, {
    state,
    at,
    from: ended.map(({ place }) => standingAt(place).position),
    visits: positionsIn(at).reduce(arrived, frame.visits),
    moves: frame.moves + ended.length,
    visited: visited(memory, id),
    ...(failures && { failures }),
  });
}

/** Visits of the run that have begun when this frame arrives at its next step: all that have ended, and those in progress elsewhere. */
function visited({ iterations, frames, results }: Memory, arriving: FrameId): number {
  const isOpen = (place: NodePlace) => {
    const result = results.get(frameId(place));
    return !result || "error" in result;
  };
  const open = [...frames].map(([id, { at }]) =>
    id === arriving ? 0 : placesIn(id === "" ? ROOT : placeOf(id), at).filter(isOpen).length,
  );
  return open.reduce((sum, count) => sum + count, iterations);
}

export interface Ended {
  readonly place: NodePlace;
  readonly record: NodeRecord;
}

function failuresOf(ended: readonly Ended[]): Frame["failures"] {
  const failed = ended.filter(({ record }) => record.failure);
  if (failed.length === 0) return undefined;
  const byTarget = failed.flatMap(({ place, record }) => {
    const failure = { node: parentOf(place).node, error: record.failure! };
    return positionsIn(record.next!).map((at) => [parsePosition(at).node, failure] as const);
  });
  return Object.fromEntries(byTarget.reverse());
}

/**
 * A recorded update was accepted once; code changed since may no longer accept it. The run's path is still known: from there on it leads
 * from node to node without their updates.
 */
function stateAfter(memory: Memory, plan: GraphPlan, outer: NodePlace, ended: readonly Ended[]): Fields {
  const { state } = memory.frames.get(frameId(outer))!;
  if (memory.problem) return state;
  const reducers = planAt(plan, outer.path)?.reducers ?? {};
  const updates = ended.flatMap(({ place, record }) => updatesOf(memory, place, record));
  try {
    return updates.reduce((now, update) => reduced(reducers, now, update), state);
  } catch (error) {
    memory.problem = new StateFailed("reducer", error);
    return state;
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
  // It was asked to stop before; now a person wants it to continue.
  memory.mail = memory.mail.filter(({ key }) => key !== "cancel" && !key?.startsWith("pause:"));
  memory.rewind = note?.rewind ?? null;
  return memory;
}

function arrived(visits: Frame["visits"], position: Position): Frame["visits"] {
  const { node, visit } = parsePosition(position);
  return { ...visits, [node]: visit };
}
