// Work claims on a Holdfast store: its named leases, within one env.

import { envName } from "../kernel/name.js";
import { omit } from "../kernel/omit.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import type { LeaseFence, LeaseStore } from "../store/contract/lease/leases.js";
import type { ClaimAnswer, Grant, WorkClaims } from "./work-claims.js";

/** Options of `storeClaims`. */
export interface StoreClaimsOptions {
  /** The env of the leases. @default `default` */
  readonly env?: string;
  /** Clock, timers and chance; for tests. */
  readonly world?: World;
}

/** Work claims over the leases of a store: all calls, including the optional ones. */
export function storeClaims(leases: LeaseStore, options: StoreClaimsOptions = {}): Required<WorkClaims> {
  const env = envName(options.env ?? "default", "env");
  const world = options.world ?? systemWorld();
  const fence = (key: string, { epoch, token }: Grant): LeaseFence => ({ env, key, epoch, token });
  return {
    async acquire(key, owner, { leaseMs }): Promise<ClaimAnswer> {
      // The token is drawn here, so that the store, repeating an unanswered call, finds the lease it already granted.
      const answer = await leases.acquire({ env, key, owner, token: world.token(), leaseMs });
      if (answer.outcome === "busy") return { ok: false, owner: answer.owner, leftMs: answer.leftMs };
      const { epoch, token, attempt } = answer.lease;
      const granted = { ok: true, epoch, token, attempt } as const;
      return answer.outcome === "stolen" ? { ...granted, stolenFrom: answer.previousOwner } : granted;
    },
    renew: (key, _owner, leaseMs, grant) => leases.renew(fence(key, grant), leaseMs),
    complete: (key, _owner, grant) => leases.complete(fence(key, grant)),
    fail: (key, _owner, detail, grant) => leases.fail(fence(key, grant), detail),
    release: (key, _owner, grant) => leases.release(fence(key, grant)),
    owns: (key, _owner, grant) => leases.owns(fence(key, grant)),
    reclaimExpired: async (limit) => (await leases.reclaimExpired({ env, limit })).map(({ key }) => key),
    async get(key) {
      const record = await leases.get(env, key);
      return record && omit(record, "env", "token");
    },
  };
}
