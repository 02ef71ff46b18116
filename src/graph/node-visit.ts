// What a node is run with: the walker, and the node's place in the graph.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { StoredError } from "../kernel/codec/recorded-error.js";
import type { Services } from "../program/environment.js";
import type { Replay } from "../replay/replay.js";
import type { StepInfo } from "../replay/step-call.js";
import type { AttemptRules } from "./attempt-rules.js";
import type { Beginning } from "./beginning.js";
import type { NodeRecord } from "./fold.js";
import type { Failure, Memory } from "./memory.js";
import type { Keep } from "./node/long-term-store.js";
import type { RunStream } from "./node/run-stream.js";
import type { AnyNode, GraphPlan } from "./plan.js";
import type { NodePlace } from "./position.js";
import type { Fields } from "./reducer.js";
import type { Spending } from "./spending.js";

export interface RunParts {
  readonly plan: GraphPlan;
  readonly memory: Memory;
  readonly replay: Replay;
  readonly codecs: Codecs;
  readonly services: Services;
  readonly beginning: Beginning;
  /** The graph's. */
  readonly name: string;
  readonly stream: RunStream;
}

/** What an attempt writes outside of the run's journal, together with its result. */
export interface Keeping {
  values: readonly Keep[];
}

/** A node to be run: its place, its state, and what happens at its end. */
export interface NodeVisit {
  readonly place: NodePlace;
  readonly state: Fields;
  readonly failure: Failure | null;
  /**
   * Adds the frame's next position, and determines whether that is the end of the run. `attempt`: whose result it is, where an earlier
   * one may still return.
   */
  readonly finish: (record: NodeRecord, goto?: readonly string[], attempt?: object) => NodeRecord;
  /** The nodes that it may go to; null where it has no edge of its own. */
  readonly targets: ReadonlySet<string> | null;
  readonly rescue: ((error: StoredError) => NodeRecord | undefined) | null;
  /** Whether no other node runs in parallel, so that a snapshot can be written with this node's entry. */
  readonly alone: boolean;
  /** Set by `finish` and `rescue`: the run ends with this node. */
  isLast: boolean;
}

export interface Walker {
  readonly parts: RunParts;
  /** From the frame's position to its end. */
  walk(place: NodePlace, plan: GraphPlan, alone: boolean): Promise<Fields>;
  /** Runs a node to its end; recorded results are not repeated. */
  node(spec: AnyNode, nodeVisit: NodeVisit): Promise<NodeRecord>;
  /** Records the end of a node that does no work itself: its branches or items did, or a person decided. */
  close(nodeVisit: NodeVisit, record: () => NodeRecord): Promise<NodeRecord>;
  /** One durable call: attempts, back-off, timeout, and its result in the journal. */
  call<T>(
    kind: "node" | "item",
    nodeVisit: NodeVisit,
    rules: AttemptRules & { readonly failures?: number | undefined },
    work: (info: StepInfo, spending: Spending, keeping: Keeping) => T | Promise<T>,
  ): Promise<T>;
}
