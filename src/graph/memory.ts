// Everything a graph run remembers: position, state, budgets, and work in progress. It is folded only from the journal,
// so the next holder has the same memory.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { StoredError } from "../kernel/codec/recorded-error.js";
import { LimitExceeded } from "../kernel/error.js";
import type { AppendEffect } from "../kernel/run/effect.js";
import { JournalCorrupt, type JournalEntry } from "../store/contract/journal/journal.js";
import { frozen } from "./frozen.js";
import type { StateFailed } from "./needs-people.js";
import { type FrameId, isWithin, type NodePlace, type Position } from "./position.js";
import type { Fields } from "./reducer.js";
import type { Breakpoints } from "./start-input.js";

/** A graph in progress: the run's own, or one inside a node. */
export interface Frame {
  readonly state: Fields;
  readonly at: Position;
  /** The nodes that led here. */
  readonly from?: readonly Position[];
  /** It has paused here at a breakpoint. */
  readonly stopped?: boolean;
  /** How often each node was visited, including the current visit. */
  readonly visits: Readonly<Record<string, number>>;
  /** How many of its nodes have ended. */
  readonly moves: number;
  /** How many visits of the whole run had begun before those of its step: they count against the limit in the order of the journal. */
  readonly visited: number;
  /** By the node that a failure edge led to: the failure for which it was taken. Of several that lead to one node, the first counts. */
  readonly failures?: Readonly<Record<string, Failure>>;
}

/** The failure of a node for which its failure edge was taken. */
export interface Failure {
  readonly node: string;
  readonly error: StoredError;
}

/** The result of a branch or an item, or the failure of a node that has not ended. */
export type Result =
  | { readonly place: NodePlace; readonly value: unknown }
  | { readonly place: NodePlace; readonly error: StoredError };

/** A message that was taken into the journal and not delivered yet. */
export type Mail = Pick<JournalEntry, "seq" | "name" | "key" | "payload" | "at">;

/** An operator's request to rewind, carried out by the next holder of the run. */
export interface Rewind {
  readonly to: string;
  readonly state: Fields | null;
}

/** A person's choice to continue a run with a damaged journal from this entry, a snapshot behind the gap. */
export interface Resume {
  readonly from: number;
}

interface Snapshot {
  readonly frames: Readonly<Record<FrameId, Frame>>;
  readonly mail: Mail[];
  readonly spent: Record<string, number>;
  readonly iterations: number;
  readonly since: number;
  readonly recorded: number;
  readonly breakpoints?: Breakpoints;
  readonly thread?: string;
  readonly threadFrom?: string | null;
}

export class Memory {
  readonly frames = new Map<FrameId, Frame>();
  /** By place, as text. */
  readonly results = new Map<string, Result>();
  /** Failed attempts, and waits and questions that began: what a call needs to resume. */
  calls: JournalEntry[] = [];
  mail: Mail[] = [];
  /** How often a node in progress has reported progress. */
  readonly progressCounts = new Map<string, number>();
  spent: Record<string, number> = {};
  /** Nodes ended, in all frames. */
  iterations = 0;
  /** When the run was started or retried: its timeout counts from here. */
  since = 0;
  /** Ended nodes in this journal: a snapshot cannot know of more than precede it. */
  recorded = 0;
  /** How many nodes had ended when the last snapshot was written. */
  written = 0;
  /** Whether the journal records how the run began. */
  begun = false;
  rewind: Rewind | null = null;
  /** The step of the graph itself that has begun, as far as this session or an entry shows; updates wait for its end. */
  busyAt: Position | null = null;
  /** Why its state does not follow from the journal: only a rewind to before that continues it. */
  problem: StateFailed | null = null;
  breakpoints: Breakpoints | null = null;
  /** The conversation that it continues. */
  thread: string | null = null;
  /** The run whose state it began with. */
  threadFrom: string | null = null;

  /** Only frames and messages: everything else has been folded into them. */
  get isQuiet(): boolean {
    return this.results.size === 0 && this.calls.length === 0;
  }

  clone(): Memory {
    const { frames, results, progressCounts, calls, mail, spent } = this;
    const maps = { frames: new Map(frames), results: new Map(results), progressCounts: new Map(progressCounts) };
    return Object.assign(new Memory(), this, maps, { calls: [...calls], mail: [...mail], spent: { ...spent } });
  }

  /** Work inside a node ends with the node. */
  forget(place: NodePlace, { results }: { readonly results: boolean }): void {
    this.calls =
      this.calls.length === 0 ? this.calls : this.calls.filter((call) => !isWithin(placeOfCall(call), place));
    if (this.frames.size > 1)
      for (const id of this.frames.keys()) if (id !== "" && isWithin(placeOfId(id), place)) this.frames.delete(id);
    if (this.progressCounts.size > 0)
      for (const id of this.progressCounts.keys()) if (isWithin(placeOfId(id), place)) this.progressCounts.delete(id);
    if (this.mail.length > 0) this.mail = this.mail.filter((one) => !isDecisionWithin(one, place));
    if (!results || this.results.size === 0) return;
    for (const [id, result] of this.results) if (isWithin(result.place, place)) this.results.delete(id);
  }
}

/**
 * The journal entry with the whole memory. Null when the state is larger than a value may be: the run continues, and
 * recovery reads back to the last snapshot that fitted.
 */
export function snapshotEffect(memory: Memory, codecs: Codecs): AppendEffect | null {
  try {
    return encodeSnapshot(memory, codecs, "");
  } catch (error) {
    if (error instanceof LimitExceeded) return null;
    throw error;
  }
}

/** Records where the run begins, or where it was rewound to: nothing else in its journal says so. */
export function beginsEffect(memory: Memory, codecs: Codecs): AppendEffect {
  return encodeSnapshot(memory, codecs, "begins");
}

function encodeSnapshot(memory: Memory, codecs: Codecs, name: "" | "begins"): AppendEffect {
  const { frames, mail, spent, iterations, since, recorded, breakpoints, thread, threadFrom } = memory;
  const rest = { ...(breakpoints && { breakpoints }), ...(thread !== null && { thread, threadFrom }) };
  const counted = { spent, iterations, since, recorded };
  const snapshot: Snapshot = { frames: Object.fromEntries(frames), mail, ...counted, ...rest };
  return { kind: "append", entry: { kind: "snapshot", name, payload: codecs.encode(snapshot, "state") } };
}

/** A snapshot that knows of more nodes than precede it was not written by this run. */
export function decodeSnapshot(entry: JournalEntry, runId: string, baseSeq: number, codecs: Codecs): Memory {
  const snapshot = codecs.decode(entry.payload!) as Snapshot;
  if (snapshot.recorded > entry.seq - baseSeq - 1) throw new JournalCorrupt(runId, baseSeq + snapshot.recorded + 1);
  const { frames, iterations: written } = snapshot;
  const states = Object.entries(frames).map(([id, frame]) => [id, { ...frame, state: frozen(frame.state) }] as const);
  return Object.assign(new Memory(), snapshot, { frames: new Map(states), written, begun: true });
}

/** The entries of a wait are named after its signal; their key is its place. */
function placeOfCall({ kind, name, key }: JournalEntry): NodePlace {
  return kind.startsWith("wait.") ? placeOfId(key!) : { path: name, visit: key! };
}

/** The key of a decision: `wait:` and its gate, `wait:review:1` or `wait:review:1@40`. */
function isDecisionWithin({ name, key }: Mail, place: NodePlace): boolean {
  const gate = `wait:${name}:`;
  if (!key?.startsWith(gate)) return false;
  return isWithin({ path: name, visit: key.slice(gate.length).split("@")[0]! }, place);
}

function placeOfId(id: string): NodePlace {
  const colon = id.lastIndexOf(":");
  return { path: id.slice(0, colon), visit: id.slice(colon + 1) };
}
