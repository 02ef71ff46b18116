// Checks attempts as they start: under a held claim, never after a recorded success, only after what they build on.

import { codecs } from "../../kernel/codec/codecs.js";
import type { EffectLog, EffectRecord } from "../effect-log.js";
import type { History } from "./history.js";
import { hasEnded, type ModelRun } from "./model.js";
import { checkStopped } from "./stops.js";

export function checkAttempt(history: History, record: EffectRecord): void {
  history.working.add(record);
  const { runId, epoch, by, idempotencyKey } = record;
  const run = history.runs.get(runId);
  if (!run) {
    if (!history.lost.has(runId)) history.broken("S1", runId, `${idempotencyKey} runs without a run`);
    return;
  }
  history.expect(
    !history.knowsOfLoss(by, runId, epoch),
    "S4",
    run,
    `${callOf(record)} was started after its holder had learned that the claim is lost`,
  );
  // By token: after a failover that lost a grant its epoch is granted to another node.
  const token = history.tokenOf(by, runId, epoch);
  const grant = run.grants.find((one) => one.epoch === epoch && (token === undefined || one.token === token));
  // After a failover or a jump of the database's clock a holder cannot know that its lease has expired.
  if (!grant || grant.at <= history.disturbedAt || history.hasTwice(by, runId, epoch)) return;
  history.expect(record.attempt <= record.attempts, "S17", run, `attempt ${record.attempt} of ${record.attempts}`);
  const held = run.state === "running" && run.epoch === epoch;
  if (held) history.expect(baseOf(record) === run.baseSeq, "S7", run, `${idempotencyKey} in generation ${run.baseSeq}`);
  if (held && !isCompensation(idempotencyKey)) checkStopped(history, run, callOf(record));
  history.expect(held, "L5", run, `${callOf(record)} was started under epoch ${epoch}; ${run.state}, ${run.epoch}`);
  // A transaction whose COMMIT had no answer is done again as a whole: the fence undoes it, which checkMarks proves.
  const again = record.kind === "transaction";
  history.expect(
    again || !hasEnded(run, callOf(record)),
    "S6",
    run,
    `${callOf(record)} was started after its recorded ending`,
  );
  for (const key of record.after) {
    const call = callOfKey(runId, key);
    const known = ["step", "transaction", "node", "item"].some((kind) => hasEnded(run, `${kind} ${call}`));
    history.expect(known, "S7", run, `${callOf(record)} was started before ${call} was recorded`);
  }
}

/** Proven loss aborts at once what still runs. */
export function checkFinished(history: History, record: EffectRecord, aborted: boolean): void {
  history.working.delete(record);
  const { runId, epoch, by } = record;
  if (aborted || !history.knowsOfLoss(by, runId, epoch)) return;
  history.broken("S4", runId, `${callOf(record)} was not aborted when its claim was lost`);
}

/** A state that a step makes has its result inside. */
function resultIn(value: unknown): string {
  return typeof value === "object" ? ((value as { effect?: string } | null)?.effect ?? "") : (value as string);
}

/** Every recorded result is the answer of an attempt of that step. `isOutside`: whether the steps of a run make attempts at all. */
export function checkResults(
  history: History,
  effects: EffectLog,
  isOutside: (run: ModelRun) => boolean = () => true,
): void {
  const { decode } = codecs();
  const answered = new Map(effects.records.flatMap((record) => (record.result ? [[record.result, record]] : [])));
  for (const run of history.runs.values()) {
    if (!isOutside(run)) continue;
    for (const { kind, name, key, payload } of run.journal) {
      if ((kind !== "step" && kind !== "transaction") || !payload) continue;
      const record = answered.get(resultIn(decode(payload)));
      const mine = record && record.runId === run.id && callOf(record) === `${kind} ${name}:${key}`;
      history.expect(mine === true, "S6", run, `the result of ${name}:${key} is none of its attempts'`);
      // It may be a part of the work.
      history.expect(record?.aborted !== true, "S24", run, `${name}:${key} answered after its abort, and was recorded`);
    }
  }
}

function callOf({ kind, runId, idempotencyKey }: EffectRecord): string {
  return `${kind} ${callOfKey(runId, idempotencyKey)}`;
}

/** Idempotency keys are `run:base:name:key`. */
function callOfKey(runId: string, idempotencyKey: string): string {
  return idempotencyKey.slice(runId.length + 1).replace(/^\d+:\w+:/, "");
}

function baseOf({ runId, idempotencyKey }: EffectRecord): number {
  return Number.parseInt(idempotencyKey.slice(runId.length + 1), 10);
}

/** It begins because the run was cancelled. */
function isCompensation(idempotencyKey: string): boolean {
  return idempotencyKey.includes(":onCancel:");
}
