// Telemetry of definitions: which were loaded, and which this node cannot execute.

/** Facts about a definition. */
interface OfDefinition {
  /** An actor or a DAG. */
  readonly kind: string;
  /** Its name. */
  readonly name: string;
  /** Its version. */
  readonly version: number;
}

/** Events of a node about actors and definitions, by name. */
export interface ActorEvents {
  /** Emitted at start, and whenever a definition has changed. */
  "definition.loaded": OfDefinition & { readonly enabled: boolean };
  /** This node lacks the strategy, or has a program of that name in its code: it leaves the runs to other nodes. */
  "definition.refused": OfDefinition & { readonly error: unknown };
  /** The definitions could not be read; the next poll tries again. */
  "definitions.failed": { readonly error: unknown };
}
