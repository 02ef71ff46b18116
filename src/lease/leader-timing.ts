// The timing of a leader, validated: how long it leads after a renewal, and how often candidates ask.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { readRenewEvery } from "./leases.js";

/** How long a leadership lasts without renewal, and how often it is renewed and asked for. */
export interface LeaderTiming {
  /** How long a leadership survives its leader's death. @default 30 s */
  readonly lease?: Duration;
  /** How often it is renewed; less than `lease`. @default a third of it */
  readonly renew?: Duration;
}

export interface LeaderTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
  /** How long it leads after the last accepted renewal was sent. */
  readonly leadMs: number;
  /** How often a candidate asks; also how soon a failed call is repeated. */
  readonly lookMs: number;
}

/** Several round trips must fit. */
const SHORTEST_LEASE_MS = 100;
const LONGEST_LOOK_MS = 1_000;

export function leaderTiming({ lease = "30s", renew }: LeaderTiming, path = ""): LeaderTimes {
  const leaseMs = toMs(lease, `${path}lease`);
  if (leaseMs < SHORTEST_LEASE_MS) {
    throw new InvalidInput(`${path}lease`, `must be ${SHORTEST_LEASE_MS} ms or more; it is ${leaseMs} ms`);
  }
  const renewMs = readRenewEvery(renew, leaseMs, `${path}renew`);
  const marginMs = Math.min(leaseMs / 10, (leaseMs - renewMs) / 2);
  return { leaseMs, renewMs, leadMs: leaseMs - marginMs, lookMs: Math.max(1, Math.min(renewMs / 4, LONGEST_LOOK_MS)) };
}
