// The timeline of a run: journal entries as rows of bars, many calls of one name folded into one row with a meter.

import type { Claim, Entry } from "../live/model.js";

export type BarKind = "done" | "failed" | "tried" | "cut" | "wait" | "now" | "event";

export interface Bar {
  readonly kind: BarKind;
  readonly from: number;
  readonly to: number;
  readonly seq: number | null;
  readonly epoch: number;
  /** It began some time after `from`: only ends are recorded. */
  readonly upTo?: boolean;
}

export interface Row {
  readonly id: string;
  readonly label: string;
  /** What kind of call: step, sleep, signal, approval, child, node, end. */
  readonly kind: string;
  readonly bars: readonly Bar[];
  /** More than one call of this name: how many, how many are done, tried again, failed. */
  readonly fold: {
    readonly calls: number;
    readonly done: number;
    readonly tried: number;
    readonly failed: number;
  } | null;
}

export interface TimelineInput {
  readonly entries: readonly Entry[];
  readonly claims: readonly Claim[];
  readonly now: number;
  readonly running: boolean;
  /** When tasks and children ended, by id: a task's end is not in its parent's journal. */
  readonly childEnds?: ReadonlyMap<string, number>;
  /** Calls of one name beyond this number are folded. */
  readonly foldAbove?: number;
}

/** Kinds that end a call, and the kind of call. Of others, the entry itself is an event without length. */
const ENDS: Readonly<Record<string, string>> = {
  step: "step",
  transaction: "step",
  value: "value",
  node: "node",
  item: "item",
  checkpoint: "checkpoint",
  sleep: "sleep",
  "wait.expired": "signal",
  child: "child",
};
const BEGINS: Readonly<Record<string, string>> = {
  "step.begun": "step",
  "sleep.begun": "sleep",
  "wait.begun": "signal",
  "approval.begun": "approval",
  enqueue: "child",
  task: "task",
};
const WAITS: readonly string[] = ["sleep", "signal", "approval", "child", "task"];
/** Written with others in one commit, or by the engine for itself: nothing to see on a timeline. */
const UNSEEN: readonly string[] = ["snapshot", "frame", "spent", "patched", "begun", "start", "progress", "parked"];
const ENDED: readonly string[] = ["completed", "failed", "cancelled", "skipped", "dead", "quarantined"];
const FOLD_ABOVE = 20;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly bars: Bar[];
  begun: Entry | null;
}

export function timelineRows(input: TimelineInput): readonly Row[] {
  const calls = new Map<string, Call>();
  const begin = beginnings(input.claims);
  for (const entry of input.entries) addEntry(calls, entry, begin(entry));
  cutOff(calls, input);
  for (const call of calls.values()) finishOpen(call, input);
  return folded(
    [...calls.values()].filter(({ bars }) => bars.length > 0),
    input.foldAbove ?? FOLD_ABOVE,
  );
}

type Begin = Pick<Bar, "from" | "upTo">;

/**
 * When the call of each entry began, asked for in the order of the journal: at the entry before it in the same claim; of entries that
 * were written together, at the one before them. Items of a fan-out work at the same time, and before its first entry a claim may
 * have waited for a slot: there it is the earliest time that is possible.
 */
function beginnings(claims: readonly Claim[]): (entry: Entry) => Begin {
  let last = { epoch: -1, at: 0, before: null as number | null, other: null as number | null };
  return ({ epoch, at: text, kind }) => {
    const at = Date.parse(text);
    const own = claims.find((claim) => claim.epoch === epoch)?.from;
    const known = own !== null && own !== undefined && Date.parse(own) < at ? Date.parse(own) : null;
    const sameClaim = last.epoch === epoch;
    const before = sameClaim ? (last.at < at ? last.at : last.before) : known;
    const isItem = kind.split(".")[0] === "item";
    const free = earliest(claims, epoch, last.epoch === -1 ? at : last.at);
    const other = sameClaim ? last.other : (before ?? free);
    last = { epoch, at, before, other: isItem ? other : at };
    if (isItem) return { from: Math.min(other ?? at, at), upTo: true };
    return before === null ? { from: Math.min(free, at), upTo: free < at } : { from: before };
  };
}

/** When the run could be taken by this claim: after the entry before it, and after the claim before it was reclaimed. */
function earliest(claims: readonly Claim[], epoch: number, lastAt: number): number {
  const reclaimed = claims.findLast((claim) => claim.epoch < epoch && claim.reclaimed !== null)?.reclaimed;
  return Math.max(lastAt, reclaimed ? Date.parse(reclaimed.at) : lastAt);
}

function addEntry(calls: Map<string, Call>, entry: Entry, begin: Begin): void {
  if (UNSEEN.includes(entry.kind)) return;
  const at = Date.parse(entry.at);
  const [base, outcome] = entry.kind.split(".") as [string, string | undefined];
  const bar = (kind: BarKind, from: Begin): Bar => ({ kind, ...from, to: at, seq: entry.seq, epoch: entry.epoch });
  const begins = BEGINS[entry.kind];
  if (begins !== undefined) {
    callOf(calls, begins, entry).begun = entry;
  } else if (entry.kind === "take") {
    takeInto(calls, entry, at);
  } else if (outcome === "tried" || outcome === "failed") {
    callOf(calls, ENDS[base] ?? base, entry).bars.push(bar(outcome, begin));
  } else if (ENDS[entry.kind] !== undefined) {
    const call = callOf(calls, ENDS[entry.kind] as string, entry);
    const from = call.begun === null ? begin : { from: Date.parse(call.begun.at) };
    call.bars.push(bar(WAITS.includes(call.kind) ? "wait" : "done", from));
    call.begun = null;
  } else {
    const isBad = entry.kind === "failed" || entry.kind === "dead" || entry.kind === "quarantined";
    const kind = ENDED.includes(entry.kind) ? "end" : "claim";
    callOf(calls, kind, { ...entry, name: entry.kind, key: null }).bars.push(
      bar(isBad ? "failed" : "event", { from: at }),
    );
  }
}

/** A message that was read ends the oldest open wait it belongs to. */
function takeInto(calls: Map<string, Call>, entry: Entry, at: number): void {
  const [what = "", rest = ""] = splitOnce(entry.key ?? "");
  const kind = what === "child" ? "child" : what === "wait" ? "approval" : "signal";
  const open = [...calls.values()].find(
    (call) =>
      call.begun !== null &&
      call.kind === kind &&
      (kind === "child" ? call.begun.key === rest : call.name === entry.name),
  );
  const call = open ?? callOf(calls, kind, entry);
  const from = call.begun === null ? at : Date.parse(call.begun.at);
  call.bars.push({ kind: call.begun === null ? "event" : "wait", from, to: at, seq: entry.seq, epoch: entry.epoch });
  call.begun = null;
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf(":");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function callOf(calls: Map<string, Call>, kind: string, { name, key }: Pick<Entry, "name" | "key">): Call {
  const id = `${kind} ${name} ${key ?? ""}`;
  const known = calls.get(id);
  if (known) return known;
  const call: Call = { id, name: name === "" ? kind : name, kind, bars: [], begun: null };
  calls.set(id, call);
  return call;
}

/**
 * A lost node leaves no entry for what it was doing. The first call that a later claim ends, and that no entry of the lost claim
 * began or ended, is what was cut off.
 */
function cutOff(calls: Map<string, Call>, { claims, entries, now }: TimelineInput): void {
  for (const lost of claims.filter(({ ended, reclaimed }) => ended === "reclaimed" || reclaimed !== null)) {
    const later = entries.find(
      ({ epoch, kind }) => epoch > lost.epoch && ENDS[kind.split(".")[0] as string] !== undefined,
    );
    const own = entries.findLast(({ epoch }) => epoch === lost.epoch);
    const from = own?.at ?? lost.from;
    if (later === undefined || from === null) continue;
    const call = callOf(calls, ENDS[later.kind.split(".")[0] as string] as string, later);
    if (WAITS.includes(call.kind)) continue;
    const to = lost.to === null ? Date.parse(from) : Math.max(Date.parse(lost.to), Date.parse(from));
    const end = lost.reclaimed === null ? to : Math.min(Date.parse(lost.reclaimed.at), now);
    call.bars.unshift({ kind: "cut", from: Date.parse(from), to: Math.max(to, end), seq: null, epoch: lost.epoch });
  }
}

function finishOpen(call: Call, { now, running, childEnds }: TimelineInput): void {
  if (call.begun === null) return;
  const { at, seq, epoch, key } = call.begun;
  const ended = key !== null && ["child", "task"].includes(call.kind) ? childEnds?.get(key) : undefined;
  const kind: BarKind = WAITS.includes(call.kind) ? "wait" : "now";
  if (kind === "wait" || running) call.bars.push({ kind, from: Date.parse(at), to: ended ?? now, seq, epoch });
}

function folded(calls: readonly Call[], above: number): readonly Row[] {
  const byName = new Map<string, Call[]>();
  for (const call of calls) {
    const group = `${call.kind} ${call.name}`;
    const known = byName.get(group);
    if (known) known.push(call);
    else byName.set(group, [call]);
  }
  return [...byName.entries()].flatMap(([id, group]) => {
    const [first] = group as [Call];
    if (group.length <= above) return group.map((call, i) => single(call, group.length > 1 ? ` ${i + 1}` : ""));
    return [{ id, label: first.name, kind: first.kind, bars: mergedBars(group), fold: foldOf(group) }];
  });
}

const single = ({ id, name, kind, bars }: Call, suffix: string): Row => ({
  id,
  label: name + suffix,
  kind,
  bars,
  fold: null,
});

function foldOf(group: readonly Call[]) {
  const has = (kind: BarKind) => group.filter(({ bars }) => bars.some((bar) => bar.kind === kind)).length;
  return {
    calls: group.length,
    done: has("done") + has("wait"),
    tried: has("tried") + has("cut"),
    failed: has("failed"),
  };
}

/** One bar for what went well, and each failure by itself: failures are never folded away. */
function mergedBars(group: readonly Call[]): readonly Bar[] {
  const bars = group.flatMap((call) => call.bars);
  const well = bars.filter(({ kind }) => kind !== "failed" && kind !== "cut");
  const bad = bars.filter(({ kind }) => kind === "failed" || kind === "cut");
  if (well.length === 0) return bad;
  const from = well.reduce((a, { from }) => Math.min(a, from), Number.POSITIVE_INFINITY);
  const to = well.reduce((a, { to }) => Math.max(a, to), Number.NEGATIVE_INFINITY);
  const last = well.at(-1) as Bar;
  return [{ kind: "done", from, to, seq: last.seq, epoch: last.epoch }, ...bad];
}
