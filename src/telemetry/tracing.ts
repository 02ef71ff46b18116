// Tracing: what a node calls around starts, claims and calls of user code. `holdfast/otel` implements it.

import type { UserCall } from "../kernel/world.js";

export interface TracedStart {
  readonly program: string;
  readonly queue: string;
  readonly env: string;
}

export interface TracedClaim extends TracedStart {
  readonly runId: string;
  readonly kind: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly generation: number;
  /** On the clock of the database. */
  readonly claimedAt: number;
  /** Of the start, as `context` returned it there; null: it was not traced. */
  readonly context: string | null;
}

/** How the claim was released, and the code of what it failed with. */
export interface ClaimEnd {
  readonly as: string | null;
  readonly error: string | null;
}

export interface Tracing {
  /** Around a start by a caller. */
  start<T>(facts: TracedStart, work: () => Promise<T>): Promise<T>;
  /** Around the work on one claim. */
  claim(facts: TracedClaim, work: () => Promise<ClaimEnd>): Promise<void>;
  /** Around one call of user code. */
  step<T>(call: UserCall, work: () => T): T;
  /** The context of the code that runs now, as a W3C `traceparent`; null: there is none. */
  context(): string | null;
  /** Called once with the node: its name is on every span, and its background services are reported through `on`. */
  follow(node: FollowedNode): void;
}

export interface FollowedNode {
  readonly identity: string;
  readonly name: string;
  readonly incarnation: string;
  readonly env: string;
  readonly stack: string | null;
  readonly build: string;
  // biome-ignore lint/suspicious/noExplicitAny: events of every part, which this layer does not know.
  on(name: any, listener: (event: any) => void): () => void;
}
