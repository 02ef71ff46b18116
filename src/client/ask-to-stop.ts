// Requests that a run stops, and waits until its holder has acknowledged: from then on nothing more of the run begins.

import { isEnded } from "../kernel/run/run-state.js";
import { sleep, type World } from "../kernel/world.js";
import type { CancelAnswer, PauseAnswer, StopProgress } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import { lacksCapableNode } from "./capable-node.js";

/**
 * `acknowledged`: no further step, node or task of the run begins. False: the holder did not answer in time, because it
 * is cut off or its event loop is blocked; it stops as soon as it learns of the request.
 */
export interface Requested {
  /** The request is stored; the holder of the run carries it out. */
  readonly outcome: "requested";
  /** Whether the holder has answered that nothing more begins. */
  readonly acknowledged: boolean;
  /** No live node has the program: the run cleans up and ends when one starts. */
  readonly noCapableNode?: true;
}

/** `ended`: the run ended before it could be stopped. */
export type CancelOutcome = Exclude<CancelAnswer, { readonly outcome: "requested" }> | Requested;
/** The answer to `pause`. `ended`: the run ended before it could be paused. */
export type Paused = Exclude<PauseAnswer, { readonly outcome: "requested" }> | Requested;

/** A holder that can be reached answers within milliseconds. */
const LONGEST_WAIT_MS = 2_000;
const FIRST_LOOK_MS = 4;
const LONGEST_LOOK_MS = 200;

export interface Asked {
  readonly store: Pick<Store, "runs" | "nodes">;
  readonly world: World;
  readonly runId: string;
  readonly by: string;
}

export function askToCancel({ store, world, runId, by }: Asked, reason?: string): Promise<CancelOutcome> {
  const ask = () => store.runs.cancel(runId, { by, ...(reason && { reason }) });
  return insist<CancelAnswer, CancelOutcome>({ store, world, runId, ask }, ({ state }) => {
    if (!isEnded(state)) return null;
    return state === "cancelled" ? { outcome: "cancelled" } : { outcome: "ended", state };
  });
}

export function askToPause({ store, world, runId, by }: Asked): Promise<Paused> {
  const ask = () => store.runs.pause(runId, { by });
  return insist<PauseAnswer, Paused>({ store, world, runId, ask }, ({ state, running }) => {
    if (isEnded(state)) return { outcome: "ended", state };
    return state === "paused" && running === 0 ? { outcome: "paused" } : null;
  });
}

interface Asking<A> extends Pick<Asked, "store" | "world" | "runId"> {
  readonly ask: () => Promise<A>;
}

/** `end`: the final answer to the request; null while it is pending. */
async function insist<A extends { readonly outcome: string }, Answer>(
  { store, world, runId, ask }: Asking<A>,
  end: (progress: StopProgress) => Answer | null,
): Promise<Answer | Exclude<A, { readonly outcome: "requested" }> | Requested | { readonly outcome: "unknown" }> {
  const until = world.monotonicNow() + LONGEST_WAIT_MS;
  let answer = await ask();
  for (let pauseMs = FIRST_LOOK_MS; answer.outcome === "requested"; pauseMs = Math.min(pauseMs * 2, LONGEST_LOOK_MS)) {
    const progress = await store.runs.stopping(runId);
    if (!progress) return { outcome: "unknown" };
    const ended = end(progress);
    if (ended) return ended;
    if (progress.unanswered === 0) return { outcome: "requested", acknowledged: true };
    // Only now: a node that misses a heartbeat is a capable one a moment later.
    if (world.monotonicNow() >= until)
      return { outcome: "requested", acknowledged: false, ...((await isUnserved(store, runId)) && NO_CAPABLE_NODE) };
    await sleep(world, pauseMs);
    // The claim was released meanwhile: the run can be stopped without a holder.
    if (progress.state !== "running") answer = await ask();
  }
  return answer as Exclude<A, { readonly outcome: "requested" }>;
}

const NO_CAPABLE_NODE = { noCapableNode: true } as const;

async function isUnserved(store: Asked["store"], runId: string): Promise<boolean> {
  const run = await store.runs.get(runId);
  return run?.state === "waiting" && lacksCapableNode(run, await store.nodes.list({ env: run.group.env }));
}
