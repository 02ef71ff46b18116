// Retention: how long a store keeps what has ended.

import { type Duration, toMs } from "../duration.js";
import { InvalidInput } from "../error.js";
import type { EndedState } from "../run/run-state.js";
import { checkNames, isGroup, type Names } from "./option-names.js";
import { InvalidSettings } from "./settings.js";

/** How long each kind is kept after its end. `false`: for ever. */
export interface RetentionOptions {
  /** Runs that completed, with their journal, messages and keys. A key with a longer `once` is kept for that time. @default 30 days */
  readonly completed?: Duration | false;
  /** Runs that were cancelled or skipped. @default 30 days */
  readonly cancelled?: Duration | false;
  /** Runs that failed. @default 90 days */
  readonly failed?: Duration | false;
  /** Runs that are dead. @default 90 days */
  readonly dead?: Duration | false;
  /** Instances of state machines that have ended, with their events and timers. @default 90 days */
  readonly instances?: Duration | false;
  /** The record of which nodes lost claims on runs that still exist. @default 30 days */
  readonly claims?: Duration | false;
  /** The audit of the admin API, at least 30 days. @default 365 days */
  readonly audit?: Duration | false;
}

/** In milliseconds; null: for ever. */
export type Retention = { readonly [Name in keyof Required<RetentionOptions>]: number | null };

/** The database refuses to delete a younger row of the audit. */
export const SHORTEST_AUDIT_DAYS = 30;
const DAY_MS = 86_400_000;

const NAMES: Names<RetentionOptions> = {
  completed: true,
  cancelled: true,
  failed: true,
  dead: true,
  instances: true,
  claims: true,
  audit: true,
};

export function retentionOf(options: RetentionOptions = {}): Retention {
  if (!isGroup(options)) throw new InvalidInput("retention", "must be an object, such as { completed: '30d' }");
  const problems = new Map<string, string>();
  checkNames({ retention: options }, { retention: NAMES }, problems);
  if (problems.size > 0) throw new InvalidSettings([...problems.values()]);
  const days = (name: keyof RetentionOptions, standard: number) => {
    const given = options[name];
    if (given === false) return null;
    return given === undefined ? standard * DAY_MS : toMs(given, `retention.${name}`);
  };
  const audit = days("audit", 365);
  if (audit !== null && audit < SHORTEST_AUDIT_DAYS * DAY_MS) {
    throw new InvalidInput("retention.audit", `must be at least ${SHORTEST_AUDIT_DAYS} days`);
  }
  return {
    completed: days("completed", 30),
    cancelled: days("cancelled", 30),
    failed: days("failed", 90),
    dead: days("dead", 90),
    instances: days("instances", 90),
    claims: days("claims", 30),
    audit,
  };
}

/** How long runs that ended in each state are kept. */
export function runAges({
  completed,
  cancelled,
  failed,
  dead,
}: Retention): Readonly<Record<EndedState, number | null>> {
  return { completed, failed, cancelled, skipped: cancelled, dead };
}
