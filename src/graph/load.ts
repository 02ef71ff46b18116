// Loads the memory of a claimed run: the last snapshot and the entries since. The time this takes does not depend on
// the run's age.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { type FoldOptions, fold } from "./fold.js";
import { type ForkInput, isFork } from "./fork-input.js";
import { frozen } from "./frozen.js";
import { type Frame, Memory, type Rewind } from "./memory.js";
import { PositionUnknown } from "./needs-people.js";
import type { GraphPlan } from "./plan.js";
import { parsePosition, positionOf } from "./position.js";
import type { Fields } from "./reducer.js";
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

export async function load(session: Session, plan: GraphPlan, codecs: Codecs): Promise<Loaded> {
  const { runId, baseSeq, seq } = session.run;
  const options = { plan, codecs, runId, baseSeq };
  if (seq === baseSeq + 1) {
    const [start] = await session.history(plan.bounds.timeoutMs !== null);
    return begin(session, start!, options);
  }
  const entries = await tail(session);
  const memory = fold(entries, options);
  if (memory.frames.size === 0) return begin(session, entries[0]!, options, memory);
  if (memory.rewind) return rewound(session, memory, memory.rewind, options);
  return { memory, unwritten: false };
}

/** From the last snapshot, or from the start of the generation if there is none. */
async function tail(session: Session): Promise<readonly JournalEntry[]> {
  const { baseSeq, seq } = session.run;
  let entries: readonly JournalEntry[] = [];
  for (let before = seq; before > baseSeq; ) {
    const after = Math.max(before - PAGE, baseSeq);
    const page = await session.entries(after, before - after);
    entries = [...page, ...entries];
    const last = page.findLastIndex(({ kind }) => kind === "snapshot");
    if (last !== -1) return entries.slice(last);
    before = after;
  }
  return entries;
}

async function begin(session: Session, start: JournalEntry, options: FoldOptions, taken?: Memory): Promise<Loaded> {
  const input = options.codecs.decode(start.payload!);
  if (!isFork(input)) return { memory: fold([start], options), unwritten: false };
  const memory = await forked(session, input, options);
  memory.since = taken?.since ?? start.at;
  memory.mail = taken?.mail ?? [];
  return { memory, unwritten: true };
}

/** The memory of the original run when it arrived at the node. */
async function forked(session: Session, { "~fork": fork }: ForkInput, options: FoldOptions): Promise<Memory> {
  const source = await session.journalOf(fork.run);
  if (!source) throw new PositionUnknown(fork.run, fork.from);
  const there = { ...options, runId: fork.run, baseSeq: source.baseSeq };
  const memory = arriving(source.entries, fork.from, there);
  if (!memory) throw new PositionUnknown(fork.run, fork.from);
  const { spent, iterations } = memory;
  const frame = changed(memory.frames.get("")!, fork.state);
  return Object.assign(new Memory(), { frames: new Map([["", frame]]), spent, iterations });
}

/** Back at an earlier node, with what has been spent since; visits keep counting, so no key is used again. */
async function rewound(session: Session, now: Memory, { to, state }: Rewind, options: FoldOptions): Promise<Loaded> {
  const { runId, baseSeq, seq } = session.run;
  const entries = await session.entries(baseSeq, seq - baseSeq);
  const memory = arriving(entries, to, options);
  if (!memory) throw new PositionUnknown(runId, to);
  const { visits } = now.frames.get("")!;
  const { node } = parsePosition(to);
  const visit = (visits[node] ?? 0) + 1;
  const then = changed(memory.frames.get("")!, state);
  const frame = { ...then, at: positionOf(node, visit), visits: { ...visits, [node]: visit } };
  const { mail, spent, since, recorded } = now;
  const { iterations } = memory;
  const frames = new Map([["", frame]]);
  const copy = Object.assign(new Memory(), { frames, mail, spent, since, recorded, iterations });
  return { memory: copy, unwritten: true };
}

function changed(frame: Frame, state: Fields | null): Frame {
  return state ? { ...frame, state: frozen({ ...frame.state, ...state }) } : frame;
}
