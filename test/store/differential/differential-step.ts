// One step of the differential test, and what the generators of steps share.

import type { Claim } from "../../../src/kernel/run/claim.js";
import type { NewRun, RunGroup } from "../../../src/kernel/run/new-run.js";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import { group } from "../scene.js";
import type { Dice } from "./dice.js";
import type { BothStores, Call } from "./differential-stores.js";
import type { Snapshot } from "./snapshot-memory.js";

export const GROUPS: readonly RunGroup[] = [
  group("a"),
  group("b", { stack: "blue", version: "1" }),
  group("c", { env: "other" }),
];

export const BUILDS = ["1", "2"] as const;

export interface Step {
  readonly name: string;
  readonly call: Call;
  /** Learns from the answer of the memory store. */
  readonly learn?: (answer: never) => void;
}

export const step = (name: string, call: Call, learn?: Step["learn"]): Step => ({
  name,
  call,
  ...(learn ? { learn } : {}),
});

/** A claim that is or was held. */
export interface Held {
  readonly claim: Claim;
  seq: number;
  readonly debounce?: ClaimedRun["debounce"];
}

/** What is drawn from, and what is known so far. */
export interface Drawer {
  readonly dice: Dice;
  readonly both: BothStores;
  readonly runIds: string[];
  readonly held: readonly Held[];
  readonly nodes: string[];
  newRun(): NewRun;
  newKey(): NonNullable<NewRun["key"]>;
  runId(): string;
  /** Mostly as it is, sometimes with a part wrong. */
  mutated<F extends { readonly epoch: number; readonly token: string }>(fence: F): F;
}

/** A limit that does not cut between runs of equal rank: their order is not defined. */
export function untied(
  snapshot: Snapshot,
  groups: readonly RunGroup[],
  limit: number,
  names: readonly string[],
): number {
  const paused = new Set(snapshot.pausedQueues.map(({ queue }) => queue));
  const queues = new Set(groups.map((one) => one.queue).filter((queue) => !paused.has(queue)));
  const turns = snapshot.runs
    .filter((run) => run.state === "waiting" && queues.has(run.group.queue))
    .filter(({ misfit }) => !misfit?.builds.some((tried) => names.includes(tried)))
    .map((run) => run.priority * 1e15 + run.availableAt)
    .sort((a, b) => a - b);
  let cut = limit;
  while (cut < turns.length && turns[cut] === turns[cut - 1]) cut++;
  return cut;
}
