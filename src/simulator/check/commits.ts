// Checks commits: written by the holder only, at the end of the log, each call ended once, each message taken once.

import type { SettleEffect } from "../../kernel/run/effect.js";
import { ends, entryOf, settles } from "../../kernel/run/effect.js";
import { isEnded } from "../../kernel/run/run-state.js";
import type { Commit, CommitAnswer } from "../../store/contract/run/runs.js";
import type { Of } from "../applied.js";
import type { History } from "./history.js";
import { endedCall, hasEnded, type ModelRun, mustWake } from "./model.js";
import { checkEnd, checkStart } from "./tasks.js";

/** A step that is a transaction: what it inserted is there with its entry, or not at all. */
export function checkTransact(history: History, { args: [commit, inserted], answer }: Of<"runs.transact">): void {
  checkCommit(history, commit, answer);
  if (answer.outcome === "accepted") for (const run of inserted) history.add(run);
  else {
    for (const { id } of inserted) {
      const there = history.tables.runs.has(id) && !history.runs.has(id);
      if (there)
        history.broken(
          "S6",
          commit.claim.runId,
          `${id} is there, the transaction that inserted it was ${answer.outcome}`,
        );
    }
  }
}

export function checkCommits(history: History, { args: [commits], answer: answers }: Of<"runs.commit">): void {
  for (const [i, commit] of commits.entries()) checkCommit(history, commit, answers[i]!);
}

function checkCommit(history: History, commit: Commit, answer: CommitAnswer): void {
  const { claim, expectedSeq, effects } = commit;
  const run = history.runs.get(claim.runId);
  const held = run?.state === "running" && run.epoch === claim.epoch && run.token === claim.token;
  if (!run) {
    if (answer.outcome !== "lost" && answer.outcome !== "busy")
      history.broken("S1", claim.runId, `${answer.outcome} without a run`);
    return;
  }
  switch (answer.outcome) {
    case "accepted":
      history.expect(held, "S4", run, `accepted from epoch ${claim.epoch}, held by ${run.epoch} (${run.state})`);
      history.expect(expectedSeq === run.seq, "S8", run, `appended at ${expectedSeq}, the log is at ${run.seq}`);
      accept(history, run, commit);
      history.expect(answer.seq === run.seq, "S8", run, `answered ${answer.seq}, the log is at ${run.seq}`);
      return;
    case "recorded":
      for (let n = 1; n <= effects.length; n++) {
        const entry = run.journal[expectedSeq + n - 1];
        const mine = entry?.token === claim.token && entry.kind === entryOf(effects[n - 1]!).kind;
        history.expect(mine, "S1", run, `entry ${expectedSeq + n} was called recorded`);
      }
      return;
    case "lost":
    case "moved":
      history.expect(!(held && expectedSeq === run.seq), "S4", run, `the holder was told ${answer.outcome}`);
      return;
    case "refused":
      if (takesLost(history, commit)) history.excused.add(run.id);
      else history.broken("S12", run.id, `refused: ${answer.error.message}`);
  }
}

/** A message that the holder had read is gone with a failover. */
function takesLost(history: History, { claim, effects }: Commit): boolean {
  return effects.some((effect) => effect.kind === "take" && history.lost.has(`${claim.runId} ${effect.messageKey}`));
}

function accept(history: History, run: ModelRun, { claim, effects }: Commit): void {
  for (const effect of effects) {
    const entry = effect.kind === "take" ? takeMessage(history, run, effect.messageKey) : entryOf(effect);
    const call = endedCall(entry);
    if (call) history.expect(!hasEnded(run, call), "S6", run, `${call} has a second ending`);
    history.expect(!isEnded(run.state), "S8", run, `${entry.kind} after the end`);
    checkTimer(history, run, entry);
    history.append(run, claim.token, entry);
    if (effect.kind === "enqueue") {
      if (effect.task) checkStart(history, run, effect.name);
      history.add({ ...effect.run, parentId: run.id }, null, effect.task?.needs ?? null);
    }
  }
  const last = effects.at(-1)!;
  const isUnused = last.kind === "handBack" && effects.length === 1;
  run.streak = last.kind === "retry" || last.kind === "misfit" || isUnused ? Math.max(run.streak - 1, 0) : 0;
  if (last.kind === "handBack") checkHandBack(history, run, claim.epoch);
  if (settles(last)) settle(history, run, last);
}

/** An orderly hand-back waits for what runs: the next owner's effects must not overlap it. */
function checkHandBack(history: History, run: ModelRun, epoch: number): void {
  const { by } = history;
  const running = [...history.working].some((one) => one.by === by && one.runId === run.id && one.epoch === epoch);
  history.expect(!running, "S7", run, "handed back while a step of it runs");
}

/** What a settling effect does to a run beyond what is read from its row. */
const SETTLED: {
  readonly [Kind in SettleEffect["kind"]]:
    | ((history: History, run: ModelRun, effect: Extract<SettleEffect, { kind: Kind }>) => void)
    | null;
} = {
  complete: (history, run) => history.end(run, "completed"),
  fail: (history, run, { as }) => (as === "quarantined" ? undefined : history.end(run, as)),
  continue: (history, run, { reopen }) => {
    history.nextGeneration(run);
    for (const message of run.messages) if (reopen.includes(message.key)) message.takenSeq = null;
  },
  retry: null,
  park: null,
  handBack: null,
  misfit: null,
  pause: null,
};

function settle(history: History, run: ModelRun, effect: SettleEffect): void {
  if (ends(effect)) checkEnd(history, run);
  (SETTLED[effect.kind] as ((history: History, run: ModelRun, effect: SettleEffect) => void) | null)?.(
    history,
    run,
    effect,
  );
  const row = history.observe(run);
  if (row?.state === "parked") history.expect(!mustWake(run), "S12", run, "parked over an unread message");
  if (effect.kind === "misfit") checkMisfit(history, run, effect.build);
  else if (row?.state === "quarantined")
    history.broken("S9", run.id, `quarantined: ${run.journal.at(-1)?.payload?.data}`);
}

/** Code that does not fit is found out once: nodes of that build leave the run alone in this generation. */
function checkMisfit(history: History, run: ModelRun, build: string): void {
  const log = run.journal.slice(run.baseSeq);
  const tries = log.filter(({ kind, name }) => kind === "misfit" && name === build).length;
  history.expect(tries === 1, "S9", run, `build ${build} was tried ${tries} times`);
}

/** Runs that some code does not fit: quarantined without a claim, or claimable again. */
export function checkReview(history: History, { answer: reviewed }: Of<"runs.reviewMisfits">): void {
  for (const { runId, outcome } of reviewed) {
    const run = history.find(runId, "a review of");
    if (!run) continue;
    const from = outcome === "lifted" ? "quarantined" : "waiting";
    history.expect(run.state === from, "S16", run, `${outcome} while ${run.state}`);
    if (outcome === "quarantined")
      history.append(run, null, { kind: "quarantined", name: "", key: null, payload: null });
    history.observe(run);
  }
}

function takeMessage(history: History, run: ModelRun, key: string) {
  const message = run.messages.find((one) => one.key === key);
  const first = run.messages.find(({ takenSeq }) => takenSeq === null);
  history.expect(message?.takenSeq === null, "S12", run, `message ${key} taken again, or never sent`);
  // The key was lost with a failover and taken by another message before its reader could notice.
  const again = history.lost.has(`${run.id} ${key}`);
  history.expect(again || message === undefined || message === first, "S12", run, `${key} taken before ${first?.key}`);
  if (message) message.takenSeq = run.seq + 1;
  return { kind: "take", name: message?.name ?? "", key, payload: message?.payload ?? null };
}

/** A sleep or a wait's deadline that ends early, on the database's clock; a jump of that clock is its excuse. */
function checkTimer(
  history: History,
  run: ModelRun,
  { kind, name, key }: { kind: string; name: string; key: string | null },
) {
  const begins = kind === "sleep" ? "sleep.begun" : kind === "wait.expired" ? "wait.begun" : null;
  if (!begins) return;
  const log = run.journal.slice(run.baseSeq);
  const begun = log.find((entry) => entry.kind === begins && entry.name === name && entry.key === key);
  history.expect(begun !== undefined, "S11", run, `${kind} ${name} without a beginning`);
  if (!begun || history.jumpedAt >= begun.at) return;
  const { ms } = JSON.parse(begun.payload!.data) as { ms: number };
  // Times in journals are whole milliseconds.
  const early = begun.atUs + ms * 1000 - 1000 - history.nowUs;
  history.expect(early <= 0, "S11", run, `${kind} ${name} ended ${early} µs too early`);
}
