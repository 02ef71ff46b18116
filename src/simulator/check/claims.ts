// Checks grants, renewals and reclaims: rising epochs, fresh tokens, no theft, bounded crashes.

import { NOT_ALONE_FACTOR, suspectFrom } from "../../kernel/run/suspicion.js";
import type { ClaimedRun, ClaimRequest } from "../../store/contract/claim/claiming.js";
import type { Reclaimed } from "../../store/contract/claim/recovery.js";
import type { Of } from "../applied.js";
import { crashesAfter, mayDie } from "./crashes.js";
import { checkFair } from "./fairness.js";
import type { History } from "./history.js";
import { type ModelRun, mustWake } from "./model.js";
import { checkReady } from "./tasks.js";

/** The names of the nodes that are no part of the cluster, and of their envs. */
export const OTHER_ENVS = ["foreign", "sister"] as const;

export function checkClaim(history: History, { args: [request], answer: granted }: Of<"runs.claim">): void {
  if (granted.length > request.limit) {
    history.broken("S15", null, `${granted.length} granted, ${request.limit} asked for`);
  }
  // A repeated call whose first request arrives late grants again under its token, without a holder: only a lease is
  // lost.
  const drawnFor = history.drawnFor.get(request.token) ?? request;
  if (drawnFor !== request) history.broken("S2", null, `token ${request.token} was drawn for two claims`);
  history.drawnFor.set(request.token, request);
  const isRepeated = ({ runId, epoch }: (typeof granted)[number]) => {
    const run = history.runs.get(runId);
    return run?.state === "running" && run.token === request.token && run.epoch === epoch;
  };
  if (!granted.some(isRepeated)) {
    checkFair(history, request, granted);
    checkSuspects(history, request, granted);
  }
  for (const claimed of granted) {
    const run = history.find(claimed.runId, "a grant of");
    if (run && !isRepeated(claimed)) checkGrant(history, run, request, claimed);
  }
}

/** S22: who asks for one suspect at most is granted one at most. */
function checkSuspects(history: History, { suspects }: ClaimRequest, granted: readonly ClaimedRun[]): void {
  if (suspects === undefined) return;
  const ids = granted.filter(({ runId }) => {
    const run = history.runs.get(runId);
    return run && run.streak >= suspectFrom(run.crashLimit);
  });
  if (ids.length > suspects) history.broken("S22", ids[0]!.runId, `${ids.length} suspects granted, not ${suspects}`);
}

function checkGrant(
  history: History,
  run: ModelRun,
  { owner, token, leaseMs }: ClaimRequest,
  { epoch, seq, log }: Pick<ClaimedRun, "epoch" | "seq" | "log">,
): void {
  const { nowUs, now } = history;
  const left = run.leaseUntilUs - nowUs;
  history.expect(
    run.state === "waiting",
    "S5",
    run,
    `granted while ${run.state}${run.state === "running" ? `, ${left} µs before its lease ends` : ""}`,
  );
  history.expect(run.availableAtUs <= nowUs, "S11", run, `granted ${run.availableAtUs - nowUs} µs before it was due`);
  checkReady(history, run);
  checkEnv(history, run, "granted to");
  history.expect(epoch > run.epoch, "S2", run, `epoch ${epoch} after ${run.epoch}`);
  history.expect(seq === run.seq, "S8", run, `granted at ${seq}, the log is at ${run.seq}`);
  const written = run.journal.slice(run.baseSeq);
  const isSame = !log || (log.length === written.length && log.every(({ kind }, i) => kind === written[i]!.kind));
  history.expect(isSame, "S8", run, "granted with another log than its own");
  history.calm?.granted(history, run);
  run.streak++;
  const most = run.crashLimit === 1 ? 1 : NOT_ALONE_FACTOR * run.crashLimit;
  history.expect(run.streak <= most, "S17", run, `${run.streak} claims in a row without progress`);
  run.epoch = epoch;
  run.owner = owner;
  run.leaseUntilUs = nowUs + Math.round(leaseMs * 1000);
  run.grants.push({ epoch, token, at: now });
  history.observe(run);
}

/** S18: only nodes of its env claim and reclaim a run. A node of another env has its name. */
function checkEnv(history: History, run: ModelRun, doing: string): void {
  const env = OTHER_ENVS.find((name) => history.by.startsWith(name)) ?? "default";
  history.expect(env === run.env, "S18", run, `of ${run.env} was ${doing} ${history.by}`);
}

export function checkRenew(history: History, { args: [claims, leaseMs], answer: answers }: Of<"runs.renew">): void {
  for (const [i, { runId, epoch, token }] of claims.entries()) {
    const { outcome } = answers[i]!;
    const run = history.runs.get(runId);
    const held = run?.state === "running" && run.epoch === epoch && run.token === token;
    if (outcome === "held") {
      const owner = history.tables.runs.get(runId)?.owner;
      if (owner) history.heard(owner);
      if (held) run.leaseUntilUs = history.nowUs + Math.round(leaseMs * 1000);
      else history.broken("S4", runId, `a claim of epoch ${epoch} was renewed that is not held`);
    } else if (outcome === "lost" && held) history.broken("S4", runId, "a claim that is held was called lost");
  }
}

/** `replaced`: at the start of a process, from earlier lives of it. */
export function checkSweep(history: History, reclaimed: readonly Reclaimed[], replaced = false): void {
  const judges = new Map(reclaimed.map((one) => [one, mayDie(history, one)]));
  for (const one of reclaimed) {
    const { runId, outcome, epoch, previousOwner } = one;
    const run = history.find(runId, "a sweep of");
    if (!run) continue;
    checkEnv(history, run, "swept by");
    const left = run.leaseUntilUs - history.nowUs;
    const mayBeTaken = left <= 0 || history.isGone(previousOwner, replaced);
    history.expect(
      run.state === "running" && mayBeTaken && run.epoch === epoch,
      "S5",
      run,
      `swept while ${run.state}, ${left} µs before its lease ends, ${history.whereabouts(previousOwner)}`,
    );
    if (left <= 0) history.calm?.swept(history, run);
    crashesAfter(history, run, one);
    const dies = judges.get(one)!(run.streak) && outcome !== "failed";
    history.expect((outcome === "dead") === dies, "S17", run, `${outcome} after ${run.streak} of ${run.crashLimit}`);
    if (outcome === "dead" || outcome === "failed") {
      history.append(run, null, { kind: outcome, name: "", key: null, payload: null });
      history.end(run, outcome);
    }
    if (outcome === "restarted") {
      const { payload = null } = run.journal[run.baseSeq] ?? {};
      for (const message of run.messages) if ((message.takenSeq ?? 0) > run.baseSeq) message.takenSeq = null;
      history.append(run, null, { kind: "start", name: "recovery", key: null, payload });
      history.nextGeneration(run);
    }
    history.observe(run);
  }
}

/** Which runs were woken is not answered: every parked one is looked at. A full page may have left some. */
export function checkWake(history: History, { args: [{ limit }], answer: woken }: Of<"runs.wakeParked">): void {
  for (const run of history.runs.values()) {
    if (run.state !== "parked") continue;
    const { wakeAtUs } = run;
    const due = wakeAtUs !== null && wakeAtUs <= history.nowUs;
    const called = run.messages.some(({ takenSeq }) => takenSeq === null);
    const row = history.observe(run);
    if (row && row.state !== "parked") {
      if (due) history.calm?.woken(history, run, wakeAtUs);
      history.expect(due || called, "S11", run, `woken ${wakeAtUs === null ? "for nothing" : "before its time"}`);
    } else history.expect(woken >= limit || (!due && !mustWake(run)), "L4", run, "slept through a wake-up");
  }
}
