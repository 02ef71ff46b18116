// Checks attempts as they start: under a claim that is held, never after a recorded success, only after what they build on.

import { codecs } from "../../kernel/codecs.js";
import type { EffectLog, EffectRecord } from "../effect-log.js";
import type { History } from "./history.js";
import { hasEnded } from "./model.js";

export function checkAttempt(history: History, record: EffectRecord): void {
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
    `${callOf(record)} was started after its holder was told that the claim is lost`,
  );
  const grant = run.grants.find((one) => one.epoch === epoch);
  // After a failover or a jump of the database's clock a holder cannot know that its lease is over.
  if (!grant || grant.at <= history.disturbedAt) return;
  const held = run.state === "running" && run.epoch === epoch;
  history.expect(held, "L5", run, `${callOf(record)} was started under epoch ${epoch}; ${run.state}, ${run.epoch}`);
  history.expect(!hasEnded(run, callOf(record)), "S6", run, `${callOf(record)} was started after its recorded ending`);
  for (const key of record.after) {
    const call = callOfKey(runId, key);
    history.expect(hasEnded(run, call), "S7", run, `${callOf(record)} was started before ${call} was recorded`);
  }
}

/** Proven loss aborts at once what still runs. */
export function checkFinished(history: History, record: EffectRecord, aborted: boolean): void {
  const { runId, epoch, by } = record;
  if (aborted || !history.knowsOfLoss(by, runId, epoch)) return;
  history.broken("S4", runId, `${callOf(record)} was not aborted when its claim was lost`);
}

/** Every recorded result is the answer of an attempt of that step. */
export function checkResults(history: History, effects: EffectLog): void {
  const { decode } = codecs();
  const answered = new Map(effects.records.flatMap((record) => (record.result ? [[record.result, record]] : [])));
  for (const run of history.runs.values()) {
    for (const { kind, name, key, payload } of run.journal) {
      if (kind !== "step" || !payload) continue;
      const record = answered.get(decode(payload) as string);
      const mine = record && record.runId === run.id && callOf(record) === `step ${name}:${key}`;
      history.expect(mine === true, "S6", run, `the result of ${name}:${key} is none of its attempts'`);
    }
  }
}

function callOf({ runId, idempotencyKey }: EffectRecord): string {
  return callOfKey(runId, idempotencyKey);
}

/** Idempotency keys are `run:generation:name:key`. */
function callOfKey(runId: string, idempotencyKey: string): string {
  return `step ${idempotencyKey.slice(runId.length + 1).replace(/^\d+:/, "")}`;
}
