// An instance's row as it leaves the database.

import type { InstanceRecord, InstanceStatus, LoadedInstance } from "../../contract/machine/machines.js";
import { ms } from "../connection/instant.js";

/** Of tables `i` and `g`. */
export const RECORD = `i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq, i.value, i.redact, i.problem,
  ${ms("i.created_at")} as created_at, ${ms("i.updated_at")} as updated_at, ${ms("i.ended_at")} as ended_at`;
export const LOADED = `${RECORD}, i.codec, i.data, i.snapshot_seq`;

export interface RecordRow {
  key: string;
  id: string;
  env: string;
  stack: string;
  queue: string;
  program: string;
  version: string | null;
  status: InstanceStatus;
  seq: string;
  value: string;
  redact: string;
  problem: string | null;
  created_at: number;
  updated_at: number;
  ended_at: number | null;
}

export interface LoadedRow extends RecordRow {
  codec: string;
  data: string;
  snapshot_seq: string;
}

export function recordOf(row: RecordRow): InstanceRecord {
  const { key, id, env, stack, queue, program, version, status, value, problem } = row;
  return {
    key,
    id,
    version,
    status,
    value,
    problem,
    group: { env, stack: stack || null, queue, program, version: null },
    seq: Number(row.seq),
    redact: JSON.parse(row.redact) as string[],
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    endedAt: row.ended_at,
  };
}

export function loadedOf(row: LoadedRow): LoadedInstance {
  const { codec, data, snapshot_seq } = row;
  return { ...recordOf(row), snapshot: { codec, data }, snapshotSeq: Number(snapshot_seq) };
}
