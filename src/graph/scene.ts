// What the kinds of nodes are run with: the one who walks through the graph, and the place they stand at.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { StoredError } from "../kernel/codec/recorded-error.js";
import type { Services } from "../program/environment.js";
import type { Replay } from "../replay/replay.js";
import type { StepInfo } from "../replay/step-call.js";
import type { AttemptRules } from "./attempt-rules.js";
import type { Beginning } from "./beginning.js";
import type { NodeRecord } from "./fold.js";
import type { Memory } from "./memory.js";
import type { AnyNode, GraphPlan } from "./plan.js";
import type { Place } from "./position.js";
import type { Fields } from "./reducer.js";
import type { Spending } from "./spending.js";

export interface RunParts {
  readonly plan: GraphPlan;
  readonly memory: Memory;
  readonly replay: Replay;
  readonly codecs: Codecs;
  readonly services: Services;
  readonly beginning: Beginning;
}

/** A node that is to be run: where, on which state, and what its end leads to. */
export interface Scene {
  readonly place: Place;
  readonly state: Fields;
  readonly failure: { readonly node: string; readonly error: StoredError } | null;
  /** Adds where its frame goes next, and says whether that is the end of the run. */
  readonly finish: (record: NodeRecord) => NodeRecord;
  readonly rescue: ((error: StoredError) => NodeRecord | undefined) | null;
  /** Whether everything that runs besides is written down when this node is: then the memory is, too. */
  readonly alone: boolean;
  /** Told by `finish` and `rescue`: with this node the whole run is over. */
  isLast: boolean;
}

export interface Walker {
  readonly parts: RunParts;
  /** From where the frame is to its end. */
  walk(place: Place, plan: GraphPlan, alone: boolean): Promise<Fields>;
  /** Runs a node to its end; what came of it before is not done again. */
  node(spec: AnyNode, scene: Scene): Promise<NodeRecord>;
  /** Records the end of a node that does no work itself: its branches, items or its person did. */
  close(scene: Scene, record: () => NodeRecord): Promise<NodeRecord>;
  /** One durable call: attempts, back-off, timeout, and its result in the journal. */
  call<T>(
    kind: "node" | "item",
    scene: Scene,
    rules: AttemptRules,
    work: (info: StepInfo, spending: Spending) => T | Promise<T>,
  ): Promise<T>;
}
