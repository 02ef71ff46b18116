// Sets the remaining time of one claim, counted from now; returns false when the claim is lost.

import type { Claim } from "../kernel/run/claim.js";
import { sleep } from "../kernel/world.js";
import type { QueueParts } from "./queue-parts.js";

/** A locked row is free again after one statement. */
const BUSY_DELAY_MS = 5;

export async function renewClaim({ store, settings }: QueueParts, claim: Claim, leaseMs: number): Promise<boolean> {
  for (;;) {
    const [answer] = await store.runs.renew([claim], leaseMs);
    if (answer?.outcome !== "busy") return answer?.outcome === "held";
    await sleep(settings.world, BUSY_DELAY_MS);
  }
}
