// Events of a run for watchers: its journal entries, reduced to a few kinds.

import type { FanOuts } from "../graph/fan-out.js";
import type { NodeRecord } from "../graph/fold.js";
import { parentOf, placesIn, ROOT } from "../graph/position.js";
import { givenInput } from "../graph/start-input.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { decodeError, type RecordedError, type StoredError } from "../kernel/codec/recorded-error.js";
import { type EndedState, isEnded, type RunState } from "../kernel/run/run-state.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";

export type Released = "parked" | "retry" | "handed-back" | "paused" | "misfit" | "quarantined";

/** One event of a run, as `watch` yields it: its journal, reduced to a few kinds. */
export type RunEvent = {
  /** Grows by one with each entry; pass it as `after` to continue from here. */
  readonly seq: number;
  /** Milliseconds since 1970 on the database's clock. */
  readonly at: number;
} & (
  | { readonly type: "started"; readonly input: unknown }
  | ({ readonly type: "step"; readonly name: string; readonly key: string } & ({ readonly state: "begun" } | Attempted))
  | GraphEvent
  | { readonly type: "progress"; readonly value: unknown }
  /** The run waits for this; at `until` it stops waiting. */
  | {
      readonly type: "waiting";
      readonly on: "sleep" | "signal" | "approval" | "child";
      readonly name: string;
      readonly until: number | null;
      /** Of a child: its run. */
      readonly runId?: string;
    }
  /** A message the run received: a signal, a decision, a child's end, a cancellation request. */
  | { readonly type: "received"; readonly name: string; readonly key: string; readonly value: unknown }
  /** The claim was released: the run waits for an outside event, another attempt, another node or other code. */
  | { readonly type: "released"; readonly as: Released }
  | { readonly type: "ended"; readonly state: EndedState; readonly value: unknown }
  /** An entry of another kind. */
  | { readonly type: "recorded"; readonly kind: string; readonly name: string; readonly value: unknown }
);

const WAITS = {
  "sleep.begun": "sleep",
  "wait.begun": "signal",
  "approval.begun": "approval",
  enqueue: "child",
} as const;
const STEPS = {
  "step.begun": "begun",
  step: "done",
  transaction: "done",
  "step.tried": "tried",
  "transaction.tried": "tried",
  "step.failed": "failed",
  "transaction.failed": "failed",
} as const;
const RELEASED = ["parked", "retry", "handed-back", "paused", "misfit", "quarantined"] as const;

/** Most entries are one event. The entry for a finished graph node also begins the next node. */
export function runEvents(entry: JournalEntry, codecs: Codecs, steps: FanOuts): readonly RunEvent[] {
  const { seq, at, payload } = entry;
  const value = payload ? codecs.decode(payload) : undefined;
  return graphEvents(entry, value, steps)?.map((event) => ({ seq, at, ...event })) ?? [runEvent(entry, value)];
}

function runEvent(entry: JournalEntry, value: unknown): RunEvent {
  const { seq, at, kind, name } = entry;
  const key = entry.key ?? "";
  if (kind === "start") return { seq, at, type: "started", input: givenInput(value) };
  if (kind === "progress") return { seq, at, type: "progress", value };
  if (kind === "take") return { seq, at, type: "received", name, key, value };
  if (isEnded(kind as RunState))
    return { seq, at, type: "ended", state: kind as EndedState, value: ending(kind, value) };
  if (Object.hasOwn(STEPS, kind))
    return { seq, at, type: "step", name, key, ...stepState(kind as keyof typeof STEPS, value) };
  if (Object.hasOwn(WAITS, kind)) {
    const on = WAITS[kind as keyof typeof WAITS];
    return { seq, at, type: "waiting", on, name, until: untilOf(at, value), ...(on === "child" && { runId: key }) };
  }
  const as = RELEASED.find((one) => one === kind);
  return as ? { seq, at, type: "released", as } : { seq, at, type: "recorded", kind, name, value };
}

function stepState(kind: keyof typeof STEPS, value: unknown) {
  const state = STEPS[kind];
  if (state === "begun") return { state };
  return state === "done" ? { state, value } : { state, error: decodeError(value as StoredError) };
}

/** The returned value, or the error the run ended with; other ends have their own payload. */
function ending(kind: string, value: unknown): unknown {
  const { name, message } = (value ?? {}) as { name?: unknown; message?: unknown };
  const isError = typeof name === "string" && typeof message === "string";
  return kind !== "completed" && isError ? decodeError(value) : value;
}

function untilOf(begunAt: number, value: unknown): number | null {
  const { ms, timeoutMs } = (value ?? {}) as { ms?: unknown; timeoutMs?: unknown };
  const forMs = ms ?? timeoutMs;
  return typeof forMs === "number" ? begunAt + forMs : null;
}

/** `tried`: it will be tried again. `failed`: it will not. */
type Attempted =
  | { readonly state: "done"; readonly value: unknown }
  | { readonly state: "tried" | "failed"; readonly error: RecordedError };

/** `value`: the state changes; null for a node that gathers: its items and branches report their own. */
type Left = Attempted & {
  /** Like `plan:2`, several as `a:1,b:1`, or `end`; null for a branch, and for a failure without a failure edge. */
  readonly next: string | null;
};

type GraphEvent =
  /** A node of a graph; a node of a subgraph has its path (`research/plan`) and the visits along it (`1.3`). */
  | ({ readonly type: "node"; readonly name: string; readonly visit: string } & ({ readonly state: "begun" } | Left))
  /** One item of a map; its key is the visit and the item's index: `1.4`. */
  | ({ readonly type: "item"; readonly name: string; readonly key: string } & Attempted);

/** Null: not an entry of a graph. */
function graphEvents(entry: JournalEntry, value: unknown, steps: FanOuts): readonly GraphEvent[] | null {
  const { name } = entry;
  const key = entry.key ?? "";
  const failed = (state: "tried" | "failed") => ({ state, error: decodeError(value as StoredError) });
  switch (entry.kind) {
    case "begun":
      return begun(ROOT, `${(value as { start: string }).start}:1`);
    case "snapshot":
      return name === "begins" ? begun(ROOT, (value as { frames: { "": { at: string } } }).frames[""].at) : [];
    case "frame":
      return begun({ path: name, visit: key }, `${(value as { start: string }).start}:1`);
    case "node":
      return left(entry, value as NodeRecord, steps);
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
    default:
      return null;
  }
}

function left(entry: JournalEntry, record: NodeRecord, steps: FanOuts): readonly GraphEvent[] {
  const { update, failure, next: position } = record;
  const { name } = entry;
  const place = { path: name, visit: entry.key! };
  const moved = steps.moved(place, record);
  const next = position ?? null;
  const event = { type: "node", name, visit: place.visit, next } as const;
  const over: GraphEvent = failure
    ? { ...event, state: "failed", error: decodeError(failure) }
    : { ...event, state: "done", value: update ?? null };
  return moved === null ? [over] : [over, ...begun(parentOf(place).frame, moved)];
}

function begun(frame: typeof ROOT, position: string): readonly GraphEvent[] {
  return placesIn(frame, position).map(({ path, visit }) => ({ type: "node", name: path, visit, state: "begun" }));
}
