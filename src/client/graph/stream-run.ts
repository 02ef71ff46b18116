// Streams a graph run to one reader, from any process: updates and states from its journal, tokens and values from its stream.

import { FanOuts } from "../../graph/fan-out.js";
import type { NodeRecord } from "../../graph/fold.js";
import type { Chunk } from "../../graph/node/run-stream.js";
import { streamSpace } from "../../graph/node/spaces.js";
import type { GraphPlan } from "../../graph/plan.js";
import { stateAt } from "../../graph/state-at.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import { isEnded, type RunState } from "../../kernel/run/run-state.js";
import { sleep, type World } from "../../kernel/world.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { Store } from "../../store/contract/store.js";
import { RunUnknown } from "../run-handle.js";

export type StreamMode = "updates" | "state" | "custom" | "tokens";

/** Where in a graph something happened. */
interface At {
  /** A node of a subgraph has its path and the visits along it: `research/plan`, `1.3`. */
  readonly node: string;
  /** Which visit of the node, such as `2`. */
  readonly visit: string;
}

export type StreamEvent<S = unknown> =
  /** A node has ended. `update`: the fields it changed; null for one that gathers its items or branches. */
  | ({ readonly mode: "updates"; readonly update: unknown; readonly cached: boolean } & At)
  /** The run has moved on. */
  | { readonly mode: "state"; readonly position: string; readonly state: S }
  /** `ctx.write`: a value, or a text. Another `attempt` begins from the start. */
  | ({ readonly mode: "custom"; readonly attempt: number; readonly value: unknown } & At)
  | ({ readonly mode: "tokens"; readonly attempt: number; readonly text: string } & At);

/** Options of `stream`. */
export interface StreamOptions<Mode extends StreamMode = StreamMode> {
  /** What is streamed: tokens, updates, states. */
  readonly modes: readonly Mode[];
  /** Ends the loop from outside. */
  readonly signal?: AbortSignal;
}

/** How often the stream is read, and the journal while it is. */
const PAUSE_MS = 100;
const PAGE = 200;

interface Place {
  readonly store: Store;
  readonly codecs: Codecs;
  readonly world: World;
  readonly env: string;
  /** Null: `state` is not among the modes. */
  readonly plan: GraphPlan | null;
}

/**
 * Ends with the run. A late reader gets every update and state from the start, and of tokens and values what is still there: the last
 * few hundred rows of the last ten minutes.
 */
export async function* streamRun(
  runId: string,
  place: Place,
  { modes, signal }: StreamOptions,
): AsyncGenerator<StreamEvent> {
  const { store, codecs, world, env } = place;
  const wants = (mode: StreamMode) => modes.includes(mode);
  const isLive = wants("tokens") || wants("custom");
  const trail = new Trail(runId, place, modes);
  let after = "";
  for (;;) {
    if (signal?.aborted) return;
    const page = await store.journal.read(runId, { after: trail.seq, limit: PAGE });
    if (!page) throw new RunUnknown(runId);
    // Read after the journal and yielded first, all that there is: what a node wrote comes before its end.
    for (let isMore = isLive; isMore; ) {
      const rows = await store.kept.list({ env, space: streamSpace(runId), after, limit: PAGE });
      for (const { key, value } of rows) {
        after = key;
        for (const chunk of codecs.decode(value) as readonly Chunk[]) {
          const event = eventOf(chunk);
          if (wants(event.mode)) yield event;
        }
      }
      isMore = rows.length === PAGE;
    }
    for (const entry of page.entries) yield* trail.follow(entry, page.baseSeq);
    const last = page.entries.at(-1);
    const isBehind = last && last.seq < page.seq;
    if (!isBehind && trail.hasEnded) return;
    if (!isBehind) await sleep(world, PAUSE_MS, signal).catch(() => {});
  }
}

function eventOf({ value, ...at }: Chunk): StreamEvent {
  return typeof value === "string" ? { mode: "tokens", ...at, text: value } : { mode: "custom", ...at, value };
}

/** What the journal says, in order. */
class Trail {
  seq = 0;
  hasEnded = false;
  readonly #runId: string;
  readonly #place: Place;
  readonly #modes: readonly StreamMode[];
  readonly #steps = new FanOuts();
  /** From the last snapshot on: what the state is folded from. */
  #entries: JournalEntry[] = [];

  constructor(runId: string, place: Place, modes: readonly StreamMode[]) {
    this.#runId = runId;
    this.#place = place;
    this.#modes = modes;
  }

  *follow(entry: JournalEntry, baseSeq: number): Generator<StreamEvent> {
    const { kind, name, key, payload } = entry;
    this.seq = entry.seq;
    this.hasEnded = isEnded(kind as RunState);
    if (kind === "snapshot") this.#entries = [];
    if (this.#modes.includes("state")) this.#entries.push(entry);
    const isBeginning = kind === "begun" || (kind === "snapshot" && name === "begins");
    if (isBeginning) yield* this.#states(baseSeq);
    if (kind !== "node") return;
    const record = this.#place.codecs.decode(payload!) as NodeRecord;
    const { update = null, cached = false } = record;
    if (this.#modes.includes("updates")) yield { mode: "updates", node: name, visit: key!, update, cached };
    const moved = this.#steps.moved({ path: name, visit: key! }, record);
    if (moved !== null && !name.includes("/")) yield* this.#states(baseSeq);
  }

  *#states(baseSeq: number): Generator<StreamEvent> {
    const { plan, codecs } = this.#place;
    if (!plan || !this.#modes.includes("state")) return;
    const page = { entries: this.#entries, baseSeq, seq: this.seq };
    const found = stateAt(page as never, { runId: this.#runId, plan, codecs, at: undefined });
    if (found) yield { mode: "state", position: found.position, state: found.state };
  }
}
