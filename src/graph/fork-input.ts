// What the run of a fork is started with: a wish that whoever has the code carries out.

import type { Fields } from "./reducer.js";

export interface ForkInput {
  readonly "~fork": { readonly run: string; readonly from: string; readonly state: Fields | null; readonly by: string };
  /** Of the run it was forked from: what limits go by. */
  readonly input: unknown;
}

/** No caller's input looks like this: `Runs.newRun` refuses it, or whoever may start a graph could read the state of any run. */
export function isFork(input: unknown): input is ForkInput {
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, "~fork")) return false;
  return Object.keys(input).length === 2 && Object.hasOwn(input, "input");
}
