// Checks operations from outside: inserts once per key, messages once per key, cancels that respect the holder, retries
// of ended runs.

import type { NewRun } from "../../kernel/run/new-run.js";
import { isEnded } from "../../kernel/run/run-state.js";
import type { RetryCall } from "../../store/contract/run/retry.js";
import type { InsertAnswer } from "../../store/contract/run/starts.js";
import type { CancelAnswer } from "../../store/contract/run/stops.js";
import type { Of } from "../applied.js";
import type { History } from "./history.js";
import { decidedCall, endedCall, type ModelRun, mustWake } from "./model.js";
import { opened } from "./stops.js";
import { followStore, tasksOf } from "./tasks.js";

export function checkInsert(history: History, runs: readonly NewRun[], answers: readonly InsertAnswer[]): void {
  for (const [i, run] of runs.entries()) {
    const answer = answers[i]!;
    const key = run.key && `${run.group.env} ${run.key.scope} ${run.key.key}`;
    const holder = key && history.keys.get(key);
    if (answer.outcome === "inserted") {
      if (holder && holder !== run.id) history.broken("S10", run.id, `key ${key} belongs to ${holder}`);
      if (key) history.keys.set(key, run.id);
      history.add(run);
    } else if (answer.outcome === "existing" && holder !== answer.runId) {
      history.broken("S10", answer.runId, `key ${key} belongs to ${holder}`);
    }
  }
}

export function checkSend(history: History, { args: [messages], answer: answers }: Of<"inbox.send">): void {
  for (const [i, { runId, key, messageId, kind, name, payload }] of messages.entries()) {
    const { outcome } = answers[i]!;
    const run = history.runs.get(runId);
    if (!run) {
      if (outcome !== "unknown") history.broken("S1", runId, `a message was ${outcome} without a run`);
      continue;
    }
    const earlier = run.messages.find((one) => one.key === key);
    if (outcome === "accepted" && earlier?.messageId !== messageId) {
      history.expect(earlier === undefined, "S12", run, `a second message ${key} was accepted`);
      history.expect(!isEnded(run.state), "S16", run, `${key} was accepted after the end`);
      if (kind === "timeout") checkTimeout(history, run, name, key);
      run.messages.push({ key, messageId, kind, name, payload, takenSeq: null });
    } else if (outcome === "unknown") history.broken("S1", runId, "was called unknown");
    const row = history.observe(run);
    history.expect(row?.state !== "parked" || !mustWake(run), "S12", run, `${key} did not wake it`);
  }
}

/** The timeout of an approval: not before it is due. A holder surprised by a failover may send it, too. */
function checkTimeout(history: History, run: ModelRun, name: string, key: string): void {
  if (history.disturbedAt >= 0) return;
  const nth = decidedCall(key).slice(name.length + 1);
  const log = run.journal.slice(run.baseSeq);
  const begun = log.find((one) => one.kind === "approval.begun" && one.name === name && one.key === nth);
  // A question that lost its race is closed the same way, also one whose beginning is still on its way: after the winner's ending.
  const last = log.at(-1)!;
  const mayHaveLost = last.kind === "take" || endedCall(last) !== null;
  history.expect(begun !== undefined || mayHaveLost, "S11", run, `approval ${nth} timed out without a beginning`);
  if (!begun) return;
  const { timeoutMs } = JSON.parse(begun.payload!.data) as { timeoutMs: number };
  const early = begun.atUs + timeoutMs * 1000 - 1000 - history.nowUs;
  history.expect(early <= 0, "S11", run, `approval ${nth} timed out ${early} µs too early`);
}

export function checkCancel(history: History, { args: [runId], answer }: Of<"runs.cancel">): void {
  cancelled(history, runId, answer);
}

function cancelled(history: History, runId: string, answer: CancelAnswer): void {
  const run = history.runs.get(runId);
  if (!run) return;
  // A paused run that has to clean up is resumed for it.
  if (tasksOf(history, run).length > 0 || (run.state === "paused" && answer.outcome === "requested")) {
    followStore(history, runId);
    return;
  }
  if (answer.outcome === "cancelled" && run.state !== "cancelled") {
    history.expect(run.state !== "running", "S3", run, "cancelled while a node holds it");
    history.expect(!isEnded(run.state), "S16", run, `cancelled after ${run.state}`);
    history.append(run, null, { kind: "cancelled", name: "", key: null, payload: null });
    history.end(run, "cancelled");
  } else if (answer.outcome === "requested" && !run.messages.some(({ key }) => key === "cancel")) {
    // A run that has begun is asked, too: its code cleans up.
    history.expect(run.state === "running" || run.epoch > 0, "S12", run, `cancel requested while ${run.state}`);
    const request = { key: "cancel", messageId: runId, kind: "cancel", name: "cancel", payload: null } as const;
    run.messages.push({ ...request, takenSeq: null });
  }
  history.observe(run);
}

export function checkExpire(history: History, { answer }: Of<"runs.expireDeferred">): void {
  for (const { runId } of answer) cancelled(history, runId, { outcome: "cancelled" });
}

/** S16: only failed, dead and quarantined runs are retried, completed ones with a task of theirs, and only as a new generation. */
export function checkRetry(history: History, { args: [runIds, options], answer: answers }: Of<"runs.retry">): void {
  for (const [i, runId] of runIds.entries()) {
    const run = history.runs.get(runId);
    if (!run || answers[i]!.outcome !== "retried") continue;
    const repeated = !isEnded(run.state) && run.journal.some(({ key }) => key === options.callId);
    if (repeated) continue;
    const may = ["failed", "dead", "quarantined", ...(options.tasks ? ["completed"] : [])];
    history.expect(may.includes(run.state), "S16", run, `retried while ${run.state}`);
    const tasks = tasksOf(history, run);
    opened(history, runId);
    reopen(history, run, options);
    // Started over, it has left its tasks: waiting ones are cancelled.
    if (options.fromStart) for (const { id } of tasks) followStore(history, id);
    else if (tasks.length > 0) followStore(history, runId);
    history.observe(run);
  }
}

function reopen(history: History, run: ModelRun, { by, callId, fromStart, note }: RetryCall): void {
  const payload = fromStart ? run.journal[run.baseSeq]!.payload : (note ?? null);
  history.append(run, null, { kind: fromStart ? "start" : "retried", name: by, key: callId, payload });
  if (fromStart) history.nextGeneration(run);
  else run.generation++;
  run.state = "waiting";
  run.waitingSince = history.now;
  run.streak = 0;
  const cancel = run.messages.findIndex(({ key }) => key === "cancel");
  if (cancel !== -1) run.messages.splice(cancel, 1);
  for (const message of run.messages) if (message.takenSeq === 0) message.takenSeq = null;
}
