// Work claims: an adapter, possibly on another database, must grant the key of a run before the work on it begins. A node that
// loses the key stops the work.

import { createHash } from "node:crypto";
import type { NodeParts } from "../engine/node-parts.js";
import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError } from "../kernel/error.js";
import type { HeldLease } from "../lease/held-lease.js";
import type { LeaseEvents } from "../lease/lease-events.js";
import { createLeases } from "../lease/leases.js";
import type { WorkClaims } from "../lease/work-claims.js";
import type { Telemetry } from "../telemetry/bus.js";

/** The adapter, or the adapter with a lease: how long a key is held without a renewal. @default `timing.lease` of the node */
export type ClaimsOption = WorkClaims | { readonly adapter: WorkClaims; readonly lease?: Duration };

type Renamed = {
  readonly [Name in keyof LeaseEvents as Name extends `lease.${infer Rest}`
    ? `work_claim.${Rest}`
    : never]: LeaseEvents[Name];
};

/** Events about claims of an adapter of your own, by name. */
export interface WorkClaimEvents extends Renamed {
  /** The adapter did not answer: nothing was begun, and it is asked again. */
  "work_claim.acquire_failed": { readonly key: string; readonly runId: string; readonly error: unknown };
}

export interface WorkGuardOptions extends Pick<NodeParts, "store" | "world" | "env" | "identity" | "settings"> {
  readonly claims: ClaimsOption;
  readonly bus: Telemetry<WorkClaimEvents>;
}

export type Around = (program: Program, session: Session, work: () => Promise<void>) => Promise<void>;

const LONGEST_KEY = 512;
/** When the adapter does not say for how long it is busy, or does not answer. */
const AGAIN_MS = 1_000;
/**
 * An adapter that does not answer is called again after as long as it has not answered, up to this. Each call is an entry of the
 * run's journal: with one call a second, 14 hours of silence made the journal of a run that had not begun too long.
 */
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 50;
const FAILED: readonly (string | null)[] = ["failed", "dead", "quarantined"];

/** The run failed, and so has its claim: the next to acquire the key makes one attempt more. */
class WorkFailed extends HoldfastError {
  readonly code = "WORK_FAILED";

  constructor(state: string) {
    super(`The run ended ${state}.`);
  }
}

export function workGuard(options: WorkGuardOptions): Around {
  const { store, world, bus, identity: owner, env } = options;
  const { adapter, leaseMs } = partsOf(options);
  const leases = createLeases({ claims: adapter, owner, world, bus: renaming(bus) });
  /** Monotonic time of the first failure since the adapter's last answer. */
  let silentSince: number | null = null;
  return async (_program, session, work) => {
    const { runId } = session.run;
    const key = keyText(env, runId, await store.runs.keyOf(runId));
    const lease = await leases.acquire(key, { for: leaseMs }).then(
      (answer) => {
        silentSince = null;
        return answer;
      },
      (error: unknown) => {
        bus.emit("work_claim.acquire_failed", { key, runId, error });
        silentSince ??= world.monotonicNow();
        const leftMs = Math.max(AGAIN_MS, Math.min(world.monotonicNow() - silentSince, LONGEST_PAUSE_MS));
        return { ok: false, leftMs } as const;
      },
    );
    if (lease.ok) await hold(lease, session, work);
    else await session.commit([later(session, lease.leftMs ?? AGAIN_MS)]);
  };
}

/** Renewed at a third of its time while the work continues. When it is lost, the work is aborted and its run handed back. */
async function hold(lease: HeldLease, session: Session, work: () => Promise<void>): Promise<void> {
  let broken: { readonly error: unknown } | null = null;
  try {
    await lease.hold(async ({ signal }) => {
      signal.addEventListener("abort", () => session.giveUp(signal.reason), { once: true });
      await work().catch((error: unknown) => {
        broken = { error };
        throw error;
      });
      if (FAILED.includes(session.settledAs)) throw new WorkFailed(session.settledAs!);
    });
  } catch {
    // Its own events report how the claim ended; the run's end is in the store.
  }
  if (broken) throw (broken as { readonly error: unknown }).error;
}

/** It costs the run nothing, and keeps no slot. */
function later(session: Session, leftMs: number) {
  const wakeInMs = Math.max(leftMs, SHORTEST_PAUSE_MS);
  return { kind: "park", wakeInMs, wakeAfter: 1, seenInboxSeq: session.inboxSeq } as const;
}

/** Without a lease of its own, the adapter has the node's. */
function partsOf({ claims, settings: { leaseMs } }: WorkGuardOptions): { adapter: WorkClaims; leaseMs: number } {
  if (!("adapter" in claims)) return { adapter: claims, leaseMs };
  const { adapter, lease } = claims;
  return { adapter, leaseMs: lease === undefined ? leaseMs : toMs(lease, "flow.claims.lease") };
}

/** The run's dedupe key: the same work has the same one in every database that the adapter serves. Without one, the run. */
export function keyText(
  env: string,
  runId: string,
  key: { readonly scope: string; readonly key: string } | null,
): string {
  if (!key) return `run:${runId}`;
  const text = JSON.stringify([env, key.scope, key.key]);
  return text.length <= LONGEST_KEY ? text : `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function renaming(bus: Telemetry<WorkClaimEvents>): Telemetry<LeaseEvents> {
  return {
    emit: (name, facts) =>
      bus.emit(`work_claim.${name.slice("lease.".length)}` as keyof WorkClaimEvents, facts as never),
  };
}
