// Where a graph keeps values that outlive its runs: the names of its spaces.

/** Of the long-term store; users see only the part behind the colon. */
export const storeSpace = (space: string): string => `store:${space}`;
/** The last state of each thread of a graph. */
export const threadSpace = (graph: string): string => `thread:${graph}`;
/** Results of one node. */
export const cacheSpace = (graph: string, path: string): string => `cache:${graph}/${path}`;
/** What a run streams. */
export const streamSpace = (runId: string): string => `stream:${runId}`;

/** The value of a thread. */
export interface ThreadValue {
  readonly state: Readonly<Record<string, unknown>>;
  /** The run whose last node wrote it. */
  readonly run: string;
}
