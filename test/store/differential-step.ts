// One operation that is made on both stores.

import type { Call } from "./differential-stores.js";

export interface Step {
  readonly name: string;
  readonly call: Call;
  /** Learns from the answer of the memory store. */
  readonly learn?: (answer: never) => void;
}

export const step = (name: string, call: Call, learn?: Step["learn"]): Step => {
  return { name, call, ...(learn ? { learn } : {}) };
};
