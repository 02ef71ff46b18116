// Checks runs that some code does not fit, page by page, and reports what happened to them.

import type { MisfitReviewed } from "../../store/contract/run/misfits.js";
import type { Store } from "../../store/contract/store.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";

const PAGE = 500;
/** More than a page is left to the next round. */
const MOST_PAGES = 20;

export interface MisfitsOptions {
  readonly store: Store;
  readonly bus: Telemetry<EngineEvents>;
  readonly env: string;
  /** Only runs that this node, which has just started, may try. */
  readonly newcomer?: string;
}

/** Returns how many can be claimed again. A failure is reported: the next round of housekeeping tries again. */
export async function reviewMisfits({ store, bus, env, newcomer }: MisfitsOptions): Promise<number> {
  let lifted = 0;
  try {
    for (let page = 0; page < (newcomer === undefined ? 1 : MOST_PAGES); page++) {
      const reviewed = await store.runs.reviewMisfits({
        env,
        limit: PAGE,
        ...(newcomer !== undefined && { newcomer }),
      });
      for (const one of reviewed) report(bus, one);
      lifted += reviewed.filter(({ outcome }) => outcome === "lifted").length;
      if (reviewed.length < PAGE) break;
    }
  } catch (error) {
    bus.emit("housekeeping.failed", { error });
  }
  return lifted;
}

function report(bus: Telemetry<EngineEvents>, { runId, program, outcome }: MisfitReviewed): void {
  if (outcome === "lifted") bus.emit("run.lifted", { runId, program });
  else bus.emit("run.quarantined", { runId, program });
}
