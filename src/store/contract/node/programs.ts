// What nodes report for people to look at: the programs they have, and how their process fares. Nothing is decided by it.

/** A program as its code declares it, so that it can be drawn and started where its code is not. */
export interface ProgramFacts {
  /** The name of the program. */
  readonly name: string;
  /** `workflow`, `dag`, `graph`, `machine` or `episode`. */
  readonly kind: string;
  /** A JSON object: tasks and their needs, nodes and edges of a graph, states of a machine; null: it has no shape. */
  readonly shape: string | null;
  /** The JSON Schema of its input; null: it has none. */
  readonly inputSchema: string | null;
}

export interface ProgramRecord extends ProgramFacts {
  /** When a node last reported something else than was stored. */
  readonly at: number;
}

/** What a node reports about its process. */
export interface NodeVitals {
  /** The 99th percentile of the delay of its event loop since its last report. */
  readonly loopP99Ms: number;
  /** Its memory in bytes. */
  readonly rssBytes: number;
  /** Slots at work, by executor. */
  readonly busy: Readonly<Record<string, number>>;
}
