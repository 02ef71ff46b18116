// What the jobs of one workflow run share: at most one of them is active, and the epochs of their claims rise.

import { payloadHash } from "../kernel/codec/canonical.js";
import type { NewLimit } from "../kernel/run/new-run.js";
import { sleep } from "../kernel/world.js";
import type { QueueParts } from "./queue-parts.js";

/** A lease is only taken for its epoch: the epochs of a key rise with every grant, and never fall. It is released at once. */
const LEASE_MS = 1_000;
const BUSY_DELAY_MS = 5;

/** A run id is any text. */
function keyOf({ settings }: QueueParts, runId: string): string {
  const { stack, queue, program } = settings.group;
  return `workflow-run ${payloadHash([stack, queue, program, runId])}`;
}

/** In the order in which they were enqueued: the next one waits until the one before has ended, also while that is paused. */
export function oneActive(parts: QueueParts, runId: string): NewLimit {
  return { kind: "serial", key: keyOf(parts, runId), max: 1 };
}

/** The epoch of this claim among all claims on jobs of the run. */
export async function nextEpoch(parts: QueueParts, runId: string, owner: string, token: string): Promise<number> {
  const { store, settings } = parts;
  const place = { env: settings.group.env, key: keyOf(parts, runId), token };
  for (;;) {
    const answer = await store.leases.acquire({ ...place, owner, leaseMs: LEASE_MS });
    if (answer.outcome !== "busy") {
      const { epoch } = answer.lease;
      await store.leases.release({ ...place, epoch });
      return epoch;
    }
    // Another worker has just taken the epoch for a claim that is lost by now.
    await sleep(settings.world, BUSY_DELAY_MS);
  }
}

/** Null: no job of the run was claimed, or that was long ago. */
export async function lastEpoch(parts: QueueParts, runId: string): Promise<number | null> {
  const lease = await parts.store.leases.get(parts.settings.group.env, keyOf(parts, runId));
  return lease?.epoch ?? null;
}
