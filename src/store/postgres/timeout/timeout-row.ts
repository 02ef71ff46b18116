// Maps a timeout's row, as statements return it, to the contract's record.

import type { TimeoutRecord } from "../../contract/timeout/timeouts.js";
import { ms } from "../connection/instant.js";

export const timeoutColumns = (
  o: string,
) => `${o}.env, ${o}.scope, ${o}.instance, ${o}.generation, ${o}.state, ${o}.sequence,
  ${ms(`${o}.deadline`)} as deadline, ${ms(`${o}.created_at`)} as created_at, ${o}.attempts, ${o}.claimed_by,
  ${ms(`${o}.claimed_until`)} as claimed_until, ${o}.due_at is null as dead, ${o}.problem`;

export interface TimeoutRow {
  env: string;
  scope: string;
  instance: string;
  generation: string;
  state: string;
  sequence: string;
  deadline: number;
  created_at: number;
  attempts: number;
  claimed_by: string | null;
  claimed_until: number | null;
  dead: boolean;
  problem: string | null;
}

export function recordOf(row: TimeoutRow): TimeoutRecord {
  const { env, scope, instance, generation, state, deadline, attempts, dead, problem } = row;
  return {
    env,
    scope,
    instance,
    generation,
    state,
    deadline,
    attempts,
    dead,
    problem,
    sequence: Number(row.sequence),
    createdAt: row.created_at,
    claimedBy: row.claimed_by,
    claimedUntil: row.claimed_until,
  };
}
