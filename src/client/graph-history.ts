// Derives a graph run's path from its journal alone, so a reader does not need the graph's code.

import type { NodeRecord } from "../graph/fold.js";
import { isFork } from "../graph/fork-input.js";
import { PositionUnknown } from "../graph/needs-people.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { StoredError } from "../kernel/codec/recorded-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";

/** One visit of a run to a node. */
export interface Visit {
  /** Like `plan:2`. */
  readonly position: string;
  /** Null until the run has left the node. */
  readonly next: string | null;
  /** The fields the node changed. Items and branches are listed under their own names. */
  readonly updates: Readonly<Record<string, unknown>>;
  readonly failure: StoredError | null;
  /** Arrival and departure, on the database's clock. */
  readonly from: number;
  readonly to: number | null;
}

export interface GraphHistory {
  readonly visits: readonly Visit[];
  /** The current position: like `plan:2`, `end`, or null before the run has begun. */
  readonly position: string | null;
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
  for (let before = seq; before > baseSeq; before = Math.max(before - PAGE, baseSeq)) {
    const after = Math.max(before - PAGE, baseSeq);
    const page = await store.journal.read(id, { after, limit: before - after });
    const position = (page?.entries ?? []).map((entry) => positionIn(entry, codecs)).findLast((one) => one !== null);
    if (position) return position;
  }
  return null;
}
const PAGE = 100;

/** The run's position after this entry; null when the entry does not determine it. */
function positionIn({ kind, name, payload }: JournalEntry, codecs: Codecs): string | null {
  const value = () => codecs.decode(payload!);
  if (kind === "begun") return `${(value() as { start: string }).start}:1`;
  if (kind === "snapshot") return (value() as { frames: { "": { at: string } } }).frames[""].at;
  return kind === "node" && !name.includes("/") ? ((value() as NodeRecord).next ?? null) : null;
}

/** `entries`: the journal of the run's current generation. */
export function historyOf(entries: readonly JournalEntry[], codecs: Codecs): GraphHistory {
  const start = entries[0]!;
  const input = start.payload ? codecs.decode(start.payload) : undefined;
  const visits: Visit[] = [];
  let inner: Record<string, unknown> = {};
  const arrive = (position: string, from: number) => {
    if (position !== "end") visits.push({ position, next: null, updates: {}, failure: null, from, to: null });
    inner = {};
    return position;
  };
  let position: string | null = null;
  for (const { kind, name, key, payload, at } of entries) {
    const value = () => codecs.decode(payload!);
    if (kind === "begun") position = arrive(`${(value() as { start: string }).start}:1`, at);
    else if (kind === "snapshot" && name === "begins") {
      position = arrive((value() as { frames: { "": { at: string } } }).frames[""].at, at);
    } else if (kind === "item") inner[`${name}[${key!.slice(key!.lastIndexOf(".") + 1)}]`] = value();
    else if (kind === "node" && name.includes("/")) Object.assign(inner, named(name, (value() as NodeRecord).update));
    else if (kind === "node") {
      const { update, failure = null, next = null } = value() as NodeRecord;
      // The journal has no start entry when the first state was too large to be written twice.
      const from = visits.pop()?.from ?? start.at;
      const here = `${name}:${key}`;
      visits.push({ position: here, next, updates: { ...inner, ...update }, failure, from, to: at });
      position = next === null ? position : arrive(next, at);
    }
  }
  const fork = isFork(input) ? input : null;
  const forkedFrom = fork && { run: fork["~fork"].run, from: fork["~fork"].from };
  return { visits, position, forkedFrom, input: fork ? fork.input : input };
}

/** The visit named by `plan:2`, or the last visit when only `plan` is given. */
export function findVisit({ visits }: GraphHistory, runId: string, wanted: string): Visit {
  const found = visits.findLast(
    ({ position }) => position === wanted || position.slice(0, position.lastIndexOf(":")) === wanted,
  );
  if (!found) throw new PositionUnknown(runId, wanted);
  return found;
}

function named(path: string, update: object | null | undefined): Record<string, unknown> {
  const inside = path.slice(path.indexOf("/") + 1);
  return Object.fromEntries(Object.entries(update ?? {}).map(([field, value]) => [`${inside}.${field}`, value]));
}
