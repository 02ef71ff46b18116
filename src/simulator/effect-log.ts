// The outside effects of steps: an external system that remembers every attempt and how it ended.

import type { StepInfo } from "../replay/step-call.js";

export interface EffectKind {
  readonly do: "step" | "transaction" | "node" | "item";
  /** How many attempts in a row its policy allows. */
  readonly attempts: number;
}

export interface EffectRecord {
  readonly no: number;
  readonly kind: EffectKind["do"];
  readonly attempts: number;
  readonly runId: string;
  /** The incarnation that made the attempt. */
  readonly by: string;
  readonly idempotencyKey: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly at: number;
  /** Idempotency keys of the steps whose results this one received. */
  readonly after: readonly string[];
  /** What it answered; null while it runs or when it failed. */
  result: string | null;
  failed: boolean;
  /** It had been asked to stop when it ended. */
  aborted: boolean;
}

export interface EffectWatcher {
  started(record: EffectRecord): void;
  finished(record: EffectRecord, aborted: boolean): void;
}

interface BegunEffect {
  readonly by: string;
  readonly runId: string;
  readonly info: StepInfo;
  readonly after: readonly string[];
}

export class EffectLog {
  readonly records: EffectRecord[] = [];
  readonly #now: () => number;
  readonly #watcher: EffectWatcher;

  constructor(now: () => number, watcher: EffectWatcher) {
    this.#now = now;
    this.#watcher = watcher;
  }

  start({ by, runId, info, after }: BegunEffect, op: EffectKind): EffectRecord {
    const { idempotencyKey, fence, attempt } = info;
    const no = this.records.length;
    const record: EffectRecord = {
      no,
      kind: op.do,
      attempts: op.attempts,
      runId,
      by,
      idempotencyKey,
      epoch: Number(fence),
      attempt,
      at: this.#now(),
      after,
      result: null,
      failed: false,
      aborted: false,
    };
    this.records.push(record);
    this.#watcher.started(record);
    return record;
  }

  /** The work is done; `aborted`: whether its signal had been aborted. */
  finish(record: EffectRecord, aborted: boolean): void {
    record.aborted = aborted;
    this.#watcher.finished(record, aborted);
  }

  /** Unlike any other attempt's result: it shows whose result was recorded. */
  answer(record: EffectRecord): string {
    record.result = `${record.idempotencyKey}#${record.no}`;
    return record.result;
  }

  of(idempotencyKey: string): readonly EffectRecord[] {
    return this.records.filter((record) => record.idempotencyKey === idempotencyKey);
  }
}

/** The idempotency key of the step that answered this. */
export function keyOfResult(result: string): string {
  return result.slice(0, result.lastIndexOf("#"));
}
