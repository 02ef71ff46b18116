// Checks runs that some code does not fit, page by page, and reports what happened to them.

import type { NodeParts } from "../node-parts.js";

const PAGE = 500;
/** More than a page is left to the next round. */
const MOST_PAGES = 20;

export interface MisfitsOptions extends Pick<NodeParts, "store" | "bus" | "env"> {
  /** Only runs that this node, which has just started, may try. */
  readonly newcomer?: string;
}

/** Returns how many can be claimed again. A failure is reported: the next round of housekeeping tries again. */
export async function reviewMisfits({ store, bus, env, newcomer }: MisfitsOptions): Promise<number> {
  let lifted = 0;
  try {
    for (let page = 0; page < (newcomer === undefined ? 1 : MOST_PAGES); page++) {
      const reviewed = await store.runs.reviewMisfits({ env, limit: PAGE, ...(newcomer && { newcomer }) });
      for (const { runId, program, outcome } of reviewed)
        bus.emit(outcome === "lifted" ? "run.lifted" : "run.quarantined", { runId, program });
      lifted += reviewed.filter(({ outcome }) => outcome === "lifted").length;
      if (reviewed.length < PAGE) break;
    }
  } catch (error) {
    bus.emit("housekeeping.failed", { error });
  }
  return lifted;
}
