// Nodes: the processes that run Holdfast, each start with an incarnation of its own.

export interface NodeRegistration {
  /** Fresh at every start. */
  readonly incarnation: string;
  readonly identity: string;
  readonly name: string;
  readonly env: string;
  readonly stack: string | null;
  readonly build: string | null;
}

export interface NodeRecord extends NodeRegistration {
  readonly startedAt: number;
  readonly seenAt: number;
  readonly stoppedAt: number | null;
  /** Runs it holds now. */
  readonly holds: number;
}

export interface NodeStore {
  register(node: NodeRegistration): Promise<void>;
  /** False: this incarnation is not registered (any more). */
  heartbeat(incarnation: string): Promise<boolean>;
  /** An orderly end. */
  stop(incarnation: string): Promise<void>;
  /** Newest start first; stopped ones only when asked for. */
  list(filter: { readonly env: string; readonly stopped?: boolean }): Promise<readonly NodeRecord[]>;
}
