// Statistics: one node of an env at a time counts starts, ends and depths, so that pages and metrics only read.

import { Loop } from "../../kernel/loop.js";
import type { Store } from "../../store/contract/store.js";
import type { NodeParts } from "../node-parts.js";

export interface StatisticsOptions extends Pick<NodeParts, "world" | "bus" | "env" | "modes"> {
  readonly store: { readonly statistics: Pick<Store["statistics"], "collect"> };
}

/** The length of the finest step: each is counted at least twice after it has closed. */
const EVERY_MS = 10_000;
/** A round that takes longer makes the next ones rarer: counting stays below two thousandths of the database's time. */
const SLOW_MS = 200;
const LONGEST_MS = 160_000;

/** Starts the loop. A round that fails is reported; the next one counts what it left out. */
export function startStatistics({ store, world, bus, env, modes }: StatisticsOptions): Loop {
  let everyMs = EVERY_MS;
  const loop = new Loop({
    world,
    round: async () => {
      if (modes.state.mode === "disabled") return;
      const startedAt = world.monotonicNow();
      // Other nodes ask as often: a turn that is nearly due is due.
      if (!(await store.statistics.collect({ env, everyMs: everyMs * 0.8 }))) return;
      const isSlow = world.monotonicNow() - startedAt > SLOW_MS;
      everyMs = isSlow ? Math.min(everyMs * 2, LONGEST_MS) : EVERY_MS;
    },
    onError: (error) => bus.emit("housekeeping.failed", { error }),
    pauseMs: () => everyMs,
  });
  loop.start(EVERY_MS / 2);
  return loop;
}
