// An instance's row as it leaves the database.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { InstanceRecord, LoadedInstance } from "../../contract/machine/machines.js";
import { ms } from "../connection/instant.js";

/** Of tables `i` and `g`. */
export const RECORD = `i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq::float8, i.value, i.redact, i.problem,
  ${ms("i.created_at")} as "createdAt", ${ms("i.updated_at")} as "updatedAt", ${ms("i.ended_at")} as "endedAt"`;
export const LOADED = `${RECORD}, i.codec, i.data, i.snapshot_seq::float8 as "snapshotSeq"`;

export interface RecordRow extends Omit<InstanceRecord, "group" | "redact">, Omit<RunGroup, "version"> {
  readonly redact: string;
}

export interface LoadedRow extends RecordRow, Payload {
  readonly snapshotSeq: number;
}

/** Field by field: a row may have columns of a timer, too. */
export function recordOf(row: RecordRow): InstanceRecord {
  const { key, id, env, stack, queue, program, version, status, seq, value, problem } = row;
  const { createdAt, updatedAt, endedAt } = row;
  const group = { env, stack: stack || null, queue, program, version: null };
  const redact = JSON.parse(row.redact) as string[];
  return { key, id, group, version, status, seq, value, redact, problem, createdAt, updatedAt, endedAt };
}

export function loadedOf(row: LoadedRow): LoadedInstance {
  const { codec, data, snapshotSeq } = row;
  return { ...recordOf(row), snapshot: { codec, data }, snapshotSeq };
}
