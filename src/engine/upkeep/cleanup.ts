// Clean-up removes rows that are no longer needed, rarely and in small batches: one node of an env at a time, separate from housekeeping.

import { buggify } from "../../kernel/buggify.js";
import { Loop } from "../../kernel/loop.js";
import { sleep } from "../../kernel/world.js";
import { CLEAN_PARTS, type CleanPart, isRetained } from "../../store/contract/cleanup.js";
import type { Store } from "../../store/contract/store.js";
import type { NodeParts } from "../node-parts.js";

export interface CleanupOptions extends Pick<NodeParts, "settings" | "world" | "bus" | "env" | "modes"> {
  readonly store: Pick<Store, "cleanUp">;
}

/** Each part is done once in this many rounds of housekeeping, by one node of the env: every 30 s by default. */
const ROUNDS = 30;
/** Rows in one statement. */
const BATCH = 2_000;
/** Statements of a part in one round; the next round removes what is left. */
const MOST_BATCHES = 20;
/** Ended runs and instances are removed with all of their rows: smaller batches, and as many as end meanwhile. */
const WHOLE = { parts: ["runs", "instances"] as readonly CleanPart[], batch: 500, mostBatches: 200 };
const DAY_MS = 86_400_000;
/** A commit may be repeated after its generation has passed, and finds its entry as long as it is there. */
const GENERATION_LEASES = 4;

/** Starts the loop. A part that fails is reported, and tried again in the next round. */
export function startCleanup(options: CleanupOptions): Loop {
  const { world, settings, modes, bus } = options;
  const everyMs = ROUNDS * settings.housekeepingMs;
  const pauseMs = () => everyMs * (0.8 + world.random() * 0.4);
  const loop: Loop = new Loop({
    world,
    round: async () => {
      for (const part of CLEAN_PARTS) {
        if (loop.isStopped) break;
        if (modes.state.mode === "disabled") continue;
        await clean(options, part, everyMs, loop.signal).catch((error) => bus.emit("housekeeping.failed", { error }));
      }
    },
    onError: (error) => bus.emit("housekeeping.failed", { error }),
    pauseMs,
  });
  loop.start(pauseMs());
  return loop;
}

async function clean(options: CleanupOptions, part: CleanPart, everyMs: number, signal: AbortSignal): Promise<void> {
  const { store, settings, env, world } = options;
  const isWhole = WHOLE.parts.includes(part);
  const [batch, most] = isWhole ? [WHOLE.batch, WHOLE.mostBatches] : [BATCH, MOST_BATCHES];
  const limit = buggify(world, "cleanup.one") ? 1 : batch;
  const kept = isRetained(part) ? {} : { keepMs: keptFor(part, settings) };
  for (let nth = 0; nth < most && !signal.aborted; nth++) {
    // Other nodes have a jitter, too: a turn that is nearly due is due.
    const pauseMs = nth === 0 ? everyMs / 2 : 0;
    const startedAt = world.monotonicNow();
    const cleaned = await store.cleanUp({ part, env, everyMs: pauseMs, ...kept, limit });
    if (!cleaned?.more) return;
    // At most half of the time, so that a busy server has the other half for the work of runs.
    if (isWhole) await sleep(world, world.monotonicNow() - startedAt, signal).catch(() => {});
  }
}

function keptFor(part: CleanPart, { leaseMs }: CleanupOptions["settings"]): number {
  if (part === "generations") return GENERATION_LEASES * leaseMs;
  return part === "rates" || part === "kept" ? 0 : DAY_MS;
}
