// Loads the memory of a claimed run: the last snapshot and the entries since. The time this takes does not depend on
// the run's age.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { JournalCorrupt, type JournalEntry } from "../store/contract/journal/journal.js";
import { enter, type FoldOptions, fold } from "./fold.js";
import { type ForkInput, isFork } from "./fork-input.js";
import { frozen } from "./frozen.js";
import type { AnyGraph } from "./graph-value.js";
import { type Frame, Memory, type Resume, type Rewind } from "./memory.js";
import { PositionUnknown, StateFailed } from "./needs-people.js";
import { type ThreadValue, threadSpace } from "./node/spaces.js";
import {
  type FrameId,
  frameId,
  type NodePlace,
  parsePosition,
  placeOf,
  placesAround,
  positionOf,
  positionsIn,
  ROOT,
  stepOf,
} from "./position.js";
import { type Fields, reduced } from "./reducer.js";
import { givenInput } from "./start-input.js";
import { arriving } from "./state-at.js";

export interface Loaded {
  readonly memory: Memory;
  /** The memory does not follow from this journal alone: it must be written before anything else is done. */
  readonly unwritten: boolean;
}

/**
 * Entries per read, from the end backwards, until there is a snapshot: with one every 100 nodes, the first read has it.
 */
const PAGE = 250;

export async function load(session: Session, { plan, name }: AnyGraph, codecs: Codecs): Promise<Loaded> {
  const { runId, baseSeq, seq } = session.run;
  const options = { plan, codecs, runId, baseSeq, program: name };
  if (seq === baseSeq + 1) {
    const [start] = await session.history(plan.bounds.timeoutMs !== null);
    return begin(session, start!, options);
  }
  const entries = await tail(session, codecs);
  const memory = fold(entries, options);
  if (memory.frames.size === 0) return begin(session, entries[0]!, options, memory);
  if (memory.rewind) return rewound(session, memory, memory.rewind, options);
  return { memory, unwritten: false };
}

/** From the last snapshot, or from the start of the generation if there is none. */
async function tail(session: Session, codecs: Codecs): Promise<readonly JournalEntry[]> {
  const { baseSeq, seq } = session.run;
  let entries: readonly JournalEntry[] = [];
  for (let before = seq; before > baseSeq; ) {
    const after = Math.max(before - PAGE, baseSeq);
    const page = await session.entries(after, before - after).catch((error) => {
      if (!(error instanceof JournalCorrupt)) throw error;
      return behindGap(session, codecs, error, before);
    });
    entries = [...page, ...entries];
    const last = page.findLastIndex(({ kind }) => kind === "snapshot");
    if (last !== -1) return entries.slice(last);
    before = after;
  }
  return entries;
}

/** What follows the last gap, when a person chose to resume from a snapshot there. */
async function behindGap(
  session: Session,
  codecs: Codecs,
  gap: JournalCorrupt,
  before: number,
): Promise<readonly JournalEntry[]> {
  const { seq } = session.run;
  const after = gap.missingSeq;
  // The choice is behind the snapshot, maybe not on the same page.
  const entries = await session.entries(after, seq - after).catch((error) => {
    if (!(error instanceof JournalCorrupt)) throw error;
    return error;
  });
  if (entries instanceof JournalCorrupt) return behindGap(session, codecs, entries, before);
  const chosen = entries.findLast((entry) => entry.kind === "retried" && resumedFrom(entry, codecs) > after);
  if (!chosen) throw gap;
  return entries.slice(0, before - after);
}

function resumedFrom({ payload }: JournalEntry, codecs: Codecs): number {
  const note = payload && (codecs.decode(payload) as { readonly resume?: Resume });
  return note?.resume?.from ?? 0;
}

async function begin(session: Session, start: JournalEntry, options: FoldOptions, taken?: Memory): Promise<Loaded> {
  const input = options.codecs.decode(start.payload!);
  const begun = fold([start], options);
  if (!isFork(input) && begun.thread === null) return { memory: begun, unwritten: false };
  const memory = isFork(input)
    ? await forked(session, input, options)
    : await continued(session, begun, input, options);
  memory.since = taken?.since ?? start.at;
  memory.mail = taken?.mail ?? [];
  return { memory, unwritten: true };
}

/** A thread continues with its last state: what `init` makes of the input is an update of it. */
async function continued(session: Session, memory: Memory, input: unknown, options: FoldOptions): Promise<Memory> {
  const { plan, codecs, program } = options;
  const kept = await session.keptValue(threadSpace(program!), memory.thread!);
  try {
    const first = plan.init(givenInput(input));
    const last = kept && (codecs.decode(kept.value) as ThreadValue);
    memory.threadFrom = last?.run ?? null;
    enter(memory, ROOT, { state: last ? reduced(plan.reducers, last.state, first) : first, start: plan.start });
    return memory;
  } catch (error) {
    throw new StateFailed("init", error);
  }
}

/** The memory of the original run when it arrived at the node. */
async function forked(session: Session, { "~fork": fork }: ForkInput, options: FoldOptions): Promise<Memory> {
  const source = await session.journalOf(fork.run);
  if (!source) throw new PositionUnknown(fork.run, fork.from);
  const there = { ...options, runId: fork.run, baseSeq: source.baseSeq };
  const memory = arriving(source.entries, fork.from, there);
  if (!memory) throw new PositionUnknown(fork.run, fork.from);
  const { spent, iterations } = memory;
  return Object.assign(new Memory(), {
    frames: framesAround(memory, placeOf(fork.from), fork.state),
    spent,
    iterations,
  });
}

/** The graphs that this place lies in, as they were; the fields of `state` belong to the innermost. Other branches begin again. */
function framesAround(memory: Memory, place: NodePlace, state: Fields | null): Map<FrameId, Frame> {
  const around = [ROOT, ...placesAround(place)].map(frameId).filter((id) => memory.frames.has(id));
  const frames = new Map(around.map((id) => [id, memory.frames.get(id)!]));
  const innermost = around.at(-1)!;
  return frames.set(innermost, changed(frames.get(innermost)!, state));
}

/** Back at an earlier node, with what has been spent since; visits keep counting, so no key is used again. */
async function rewound(session: Session, now: Memory, { to, state }: Rewind, options: FoldOptions): Promise<Loaded> {
  const { runId, baseSeq, seq } = session.run;
  const entries = await session.entries(baseSeq, seq - baseSeq);
  const memory = arriving(entries, to, options);
  if (!memory) throw new PositionUnknown(runId, to);
  const frames = visitedAgain(framesAround(memory, placeOf(to), state), now.frames.get("")!);
  const { mail, spent, since, recorded, breakpoints, thread, threadFrom } = now;
  const { iterations } = memory;
  const kept = { mail, spent, since, recorded, breakpoints, thread, threadFrom };
  const copy = Object.assign(new Memory(), { frames, iterations, ...kept });
  return { memory: copy, unwritten: true };
}

/** A new visit of the outermost node: what is inside it has new keys with it. */
function visitedAgain(frames: ReadonlyMap<FrameId, Frame>, { visits }: Frame): Map<FrameId, Frame> {
  const root = frames.get("")!;
  const next = (node: string) => (visits[node] ?? 0) + 1;
  const nodes = positionsIn(root.at).map((at) => parsePosition(at).node);
  const inner = [...frames].filter(([id]) => id !== "");
  const renamed = inner.map(([id, frame]) => {
    const outermost = id.slice(0, id.search(/[/:]/));
    return [id.replace(/:\d+/, `:${next(outermost)}`), frame] as const;
  });
  const visited = { ...visits, ...Object.fromEntries(nodes.map((node) => [node, next(node)])) };
  const { from: _from, stopped: _stopped, ...rest } = root;
  const at = stepOf(nodes.map((node) => positionOf(node, next(node))));
  return new Map([["", { ...rest, at, visits: visited }], ...renamed]);
}

function changed(frame: Frame, state: Fields | null): Frame {
  return state ? { ...frame, state: frozen({ ...frame.state, ...state }) } : frame;
}
