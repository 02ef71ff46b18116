// Derives a graph run's path from its journal alone, so a reader does not need the graph's code.

import { FanOuts } from "../../graph/fan-out.js";
import type { NodeRecord } from "../../graph/fold.js";
import { isFork } from "../../graph/fork-input.js";
import { PositionUnknown } from "../../graph/needs-people.js";
import { frameId, type NodePlace, parentOf, placeOf, placesIn, positionsIn } from "../../graph/position.js";
import { givenInput } from "../../graph/start-input.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import type { StoredError } from "../../kernel/codec/recorded-error.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";

/** One visit of a run to a node. */
export interface Visit {
  /** Like `plan:2`. */
  readonly position: string;
  /** Null until the run has left the node. */
  readonly next: string | null;
  /** The fields the node changed. Items and branches are listed under their own names. */
  readonly updates: Readonly<Record<string, unknown>>;
  /** The error that the node failed with; null when it did not. */
  readonly failure: StoredError | null;
  /** Arrival, on the database's clock. */
  readonly from: number;
  /** Departure, on the database's clock; null while the visit has not ended. */
  readonly to: number | null;
}

export interface GraphHistory {
  readonly visits: readonly Visit[];
  /** The visits that began together, in their order: `a:1`, or `a:1,b:1` side by side. */
  readonly steps: readonly string[];
  /** The current position: like `plan:2`, `end`, or null before the run has begun. */
  readonly position: string | null;
  /** Visits inside subgraphs, in the order of their arrival: `research/plan:1.2`. */
  readonly inside: readonly string[];
  /** The run it was forked from, and the position of the fork. */
  readonly forkedFrom: { readonly run: string; readonly from: string } | null;
  /** What it was started with. */
  readonly input: unknown;
}

/** Reads the journal backwards: the position is among the last entries, however long the run is. */
export async function graphPosition(
  store: Store,
  codecs: Codecs,
  { id, seq, baseSeq }: Pick<RunRecord, "id" | "seq" | "baseSeq">,
): Promise<string | null> {
  let entries: readonly JournalEntry[] = [];
  for (let before = seq; before > baseSeq; before = Math.max(before - PAGE, baseSeq)) {
    const after = Math.max(before - PAGE, baseSeq);
    const page = await store.journal.read(id, { after, limit: before - after });
    entries = [...(page?.entries ?? []), ...entries];
    // A node that ran side by side with others does not determine it alone.
    const known = entries.findLastIndex((entry) => positionIn(entry, codecs, new FanOuts()) !== null);
    if (known === -1) continue;
    const steps = new FanOuts();
    return entries.slice(known).reduce((at, entry) => positionIn(entry, codecs, steps) ?? at, "");
  }
  return null;
}
const PAGE = 100;

/** The run's position after this entry; null when the entry does not determine it. */
function positionIn({ kind, name, key, payload }: JournalEntry, codecs: Codecs, steps: FanOuts): string | null {
  const value = () => codecs.decode(payload!);
  if (kind === "begun") return `${(value() as { start: string }).start}:1`;
  if (kind === "snapshot") return (value() as { frames: { "": { at: string } } }).frames[""].at;
  if (kind !== "node" || name.includes("/")) return null;
  return steps.moved({ path: name, visit: key! }, value() as NodeRecord);
}

/** `entries`: the journal of the run's current generation. */
export function historyOf(entries: readonly JournalEntry[], codecs: Codecs): GraphHistory {
  const start = entries[0]!;
  const input = start.payload ? codecs.decode(start.payload) : undefined;
  const visits: Visit[] = [];
  const steps: string[] = [];
  const fanOuts = new FanOuts();
  /** What items and branches changed, by the node they are in. */
  let inner: Record<string, Record<string, unknown>> = {};
  let position: string | null = null;
  const arrive = (at: string, from: number) => {
    for (const one of positionsIn(at))
      visits.push({ position: one, next: null, updates: {}, failure: null, from, to: null });
    steps.push(at);
    inner = {};
    position = at;
  };
  const isBeginning = ({ kind, name }: JournalEntry) => kind === "begun" || (kind === "snapshot" && name === "begins");
  for (const entry of entries) {
    const { kind, name, key, payload, at } = entry;
    const value = () => codecs.decode(payload!);
    const [node] = name.split("/") as [string];
    if (isBeginning(entry)) arrive(positionIn(entry, codecs, fanOuts)!, at);
    else if (kind === "item") setInner(inner, node, { [`${name}[${key!.slice(key!.lastIndexOf(".") + 1)}]`]: value() });
    else if (kind === "node" && name.includes("/")) setInner(inner, node, named(name, (value() as NodeRecord).update));
    else if (kind === "node") {
      const record = value() as NodeRecord;
      const here = `${name}:${key}`;
      // The journal has no start entry when the first state was too large to be written twice.
      const open = visits.findLastIndex((visit) => visit.position === here && visit.to === null);
      const from = visits[open]?.from ?? start.at;
      const { failure = null, next = null } = record;
      const left = { position: here, next, updates: { ...inner[name], ...record.update }, failure, from, to: at };
      visits.splice(open === -1 ? visits.length : open, 1, left);
      const moved = fanOuts.moved({ path: name, visit: key! }, record);
      if (moved !== null) arrive(moved, at);
    }
  }
  const inside = entries.flatMap((entry) => insideOf(entry, codecs));
  const fork = isFork(input) ? input : null;
  const forkedFrom = fork && { run: fork["~fork"].run, from: fork["~fork"].from };
  return { visits, steps, position, inside, forkedFrom, input: fork ? fork.input : givenInput(input) };
}

function setInner(
  inner: Record<string, Record<string, unknown>>,
  node: string,
  changes: Record<string, unknown>,
): void {
  inner[node] = { ...inner[node], ...changes };
}

/** The visits inside subgraphs that begin with this entry. */
function insideOf({ kind, name, key, payload }: JournalEntry, codecs: Codecs): readonly string[] {
  const at = (frame: NodePlace, position: string) => placesIn(frame, position).map(frameId);
  const value = () => codecs.decode(payload!);
  if (kind === "frame") return at({ path: name, visit: key! }, `${(value() as { start: string }).start}:1`);
  if (kind === "node" && name.includes("/")) {
    const { next } = value() as NodeRecord;
    return next === undefined ? [] : at(parentOf({ path: name, visit: key! }).frame, next);
  }
  if (kind !== "snapshot" || name !== "begins") return [];
  const frames = Object.entries((value() as { frames: Record<string, { at: string }> }).frames);
  return frames.flatMap(([id, frame]) => (id === "" ? [] : at(placeOf(id), frame.at)));
}

/** The position named by `plan:2`, or the last visit when only `plan` is given; also `research/plan:1.2`. */
export function findPosition({ visits, inside }: GraphHistory, runId: string, wanted: string): string {
  const known = [...visits.map(({ position }) => position), ...inside];
  const found = known.findLast((position) => position === wanted || placeOf(position).path === wanted);
  if (found === undefined) throw new PositionUnknown(runId, wanted);
  return found;
}

function named(path: string, update: object | null | undefined): Record<string, unknown> {
  const inside = path.slice(path.indexOf("/") + 1);
  return Object.fromEntries(Object.entries(update ?? {}).map(([field, value]) => [`${inside}.${field}`, value]));
}
