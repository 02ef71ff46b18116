// Converts journal entries of a graph run into events for watchers.

import type { NodeRecord } from "../graph/fold.js";
import { END, parentOf, parsePosition, placeIn, ROOT } from "../graph/position.js";
import { decodeError, type RecordedError, type StoredError } from "../kernel/codec/recorded-error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";

/** `tried`: it will be tried again. `failed`: it will not. */
export type Attempted =
  | { readonly state: "done"; readonly value: unknown }
  | { readonly state: "tried" | "failed"; readonly error: RecordedError };

/** `value`: the state changes; null for a node that gathers: its items and branches report their own. */
type Left = Attempted & {
  /** Like `plan:2`, or `end`; null for a branch, and for a failure without a failure edge. */
  readonly next: string | null;
};

export type GraphEvent =
  /** A node of a graph; a node of a subgraph has its path (`research/plan`) and the visits along it (`1.3`). */
  | ({ readonly type: "node"; readonly name: string; readonly visit: string } & ({ readonly state: "begun" } | Left))
  /** One item of a map; its key is the visit and the item's index: `1.4`. */
  | ({ readonly type: "item"; readonly name: string; readonly key: string } & Attempted);

const KINDS = [
  "begun",
  "snapshot",
  "frame",
  "node",
  "node.tried",
  "node.failed",
  "item",
  "item.tried",
  "item.failed",
] as const;
type Kind = (typeof KINDS)[number];

export function isOfGraph({ kind }: JournalEntry): boolean {
  return (KINDS as readonly string[]).includes(kind);
}

export function graphEvents(entry: JournalEntry, value: unknown): readonly GraphEvent[] {
  const { name } = entry;
  const key = entry.key ?? "";
  const failed = (state: "tried" | "failed") => ({ state, error: decodeError(value as StoredError) });
  switch (entry.kind as Kind) {
    case "begun":
      return begun(ROOT, `${(value as { start: string }).start}:1`);
    case "snapshot":
      return name === "begins" ? begun(ROOT, (value as { frames: { "": { at: string } } }).frames[""].at) : [];
    case "frame":
      return begun({ path: name, visit: key }, `${(value as { start: string }).start}:1`);
    case "node":
      return left(entry, value as NodeRecord);
    case "node.tried":
      return [{ type: "node", name, visit: key, ...failed("tried"), next: null }];
    case "node.failed":
      return [{ type: "node", name, visit: key, ...failed("failed"), next: null }];
    case "item":
      return [{ type: "item", name, key, state: "done", value }];
    case "item.tried":
      return [{ type: "item", name, key, ...failed("tried") }];
    case "item.failed":
      return [{ type: "item", name, key, ...failed("failed") }];
  }
}

function left(entry: JournalEntry, { update, failure, next: position }: NodeRecord): readonly GraphEvent[] {
  const { name } = entry;
  const place = { path: name, visit: entry.key! };
  const next = position ?? null;
  const event = { type: "node", name, visit: place.visit, next } as const;
  const over: GraphEvent = failure
    ? { ...event, state: "failed", error: decodeError(failure) }
    : { ...event, state: "done", value: update ?? null };
  return next === null ? [over] : [over, ...begun(parentOf(place).frame, next)];
}

function begun(frame: typeof ROOT, position: string): readonly GraphEvent[] {
  if (position === END) return [];
  const { node, visit } = parsePosition(position);
  const place = placeIn(frame, node, visit);
  return [{ type: "node", name: place.path, visit: place.visit, state: "begun" }];
}
