// The input of a forked run: a request that the node with the graph's code carries out.

import type { Fields } from "./reducer.js";

export interface ForkInput {
  readonly "~fork": { readonly run: string; readonly from: string; readonly state: Fields | null; readonly by: string };
  /** The input of the run it was forked from; limits take their keys from it. */
  readonly input: unknown;
}

/**
 * `Runs.newRun` rejects such an input from callers: otherwise, a caller allowed to start a graph could read the state
 * of any run.
 */
export function isFork(input: unknown): input is ForkInput {
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, "~fork")) return false;
  return Object.keys(input).length === 2 && Object.hasOwn(input, "input");
}
