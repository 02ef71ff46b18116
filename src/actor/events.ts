// What is told of definitions: which were loaded, and which this node cannot work on.

interface OfDefinition {
  readonly kind: string;
  readonly name: string;
  readonly version: number;
}

export interface ActorEvents {
  /** At the start, and whenever any of them has changed. */
  "definition.loaded": OfDefinition & { readonly enabled: boolean };
  /** This node has no such strategy, or a program of that name in its code: it leaves its runs to others. */
  "definition.refused": OfDefinition & { readonly error: unknown };
  /** They could not be read; the next look comes. */
  "definitions.failed": { readonly error: unknown };
}
