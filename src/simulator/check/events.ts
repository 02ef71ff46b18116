// Checks events (S10): every declared subscription is found; a subject's run begins with its last event, and not before
// it is quiet.

import { readTicket, writeTicket } from "../../kernel/run/debounce-ticket.js";
import { eventRun } from "../../kernel/run/event-run.js";
import { isEnded } from "../../kernel/run/run-state.js";
import type { DebounceAnswer, EventToMatch, NewDebounced, Subscription } from "../../store/contract/event/events.js";
import type { Of } from "../applied.js";
import type { History } from "./history.js";
import { checkInsert } from "./messages.js";
import type { ModelRun } from "./model.js";

/** All nodes of a simulation have the same code: nothing is ever removed, whichever node comes or goes. */
export function checkSubscribe(
  history: History,
  { args: [{ subscriptions }], answer: removed }: Of<"events.subscribe">,
): void {
  if (removed > 0) history.broken("S10", null, `${removed} subscriptions were removed that every node declares`);
  for (const one of subscriptions) history.subscriptions.set(`${one.env} ${one.id}`, one);
}

/** From the moment it was declared, every emit finds it. */
export function checkMatch(history: History, { args: [events], answer: answers }: Of<"events.match">): void {
  for (const [i, event] of events.entries()) checkMatched(history, event, answers[i]!);
}

function checkMatched(history: History, event: EventToMatch, matched: readonly Subscription[]): void {
  const found = matched.map(({ id }) => id).sort();
  const declared = [...history.subscriptions.values()].filter((one) => isFor(one, event)).map(({ id }) => id);
  if (found.join() !== declared.sort().join()) {
    history.broken("S10", null, `${event.event} ${event.plain} is for ${found}, declared are ${declared}`);
  }
}

/** Found as by a match, and each run as if it had been inserted by itself. */
export function checkStart(history: History, { args: [events], answer: answers }: Of<"events.start">): void {
  for (const [i, event] of events.entries()) {
    const answer = answers[i]!;
    if (answer.outcome === "refused") {
      history.broken("S10", null, `${event.event} was refused: ${answer.error.message}`);
      continue;
    }
    checkMatched(history, event, answer.matched);
    if (answer.outcome !== "started") continue;
    const runs = answer.matched.map((one) => eventRun(event, one));
    checkInsert(history, runs, answer.runs);
  }
}

/** Filters of the simulator are flat. */
function isFor({ env, event, stack, where }: Subscription, asked: EventToMatch): boolean {
  if (env !== asked.env || event !== asked.event || stack !== asked.stack) return false;
  const payload = JSON.parse(asked.plain) as Record<string, unknown>;
  return (
    where.length === 0 || where.some((filter) => Object.entries(filter).every(([at, value]) => payload[at] === value))
  );
}

const subjectOf = (env: string, { subscription, subject }: { subscription: string; subject: string }) =>
  `${env} ${subscription} ${subject}`;

/** Of several events of one subject in a call, the last counts. */
export function checkDebounce(history: History, { args: [events], answer: answers }: Of<"events.debounce">): void {
  checkGathering(history, events, answers);
}

/** Each run as if it had been inserted alone, and the others as if they had been debounced in one call. */
export function checkAccept(history: History, { args: [events], answer: answers }: Of<"events.accept">): void {
  const debounced: NewDebounced[] = [];
  const gathered: DebounceAnswer[] = [];
  for (const [i, event] of events.entries()) {
    const answer = answers[i]!;
    if (answer.outcome === "refused") {
      history.broken("S10", null, `an event was refused: ${answer.error.message}`);
      continue;
    }
    checkInsert(history, event.runs, answer.runs);
    debounced.push(...event.debounced);
    gathered.push(...answer.debounced);
  }
  checkGathering(history, debounced, gathered);
}

function checkGathering(history: History, events: readonly NewDebounced[], answers: readonly DebounceAnswer[]): void {
  const last = new Map(
    events.map((event, i) => [subjectOf(event.run.group.env, event.ticket), { ...event, answer: answers[i]! }]),
  );
  for (const [subject, { run, ticket, answer }] of last) {
    if (answer.outcome !== "gathered") {
      history.broken("S10", run.id, `an event was ${answer.outcome}`);
      continue;
    }
    // Its run is there: the reply to the first call was lost. Others may have come since, and nothing changes.
    if (history.runs.has(run.id)) continue;
    const known = history.runs.get(history.gathering.get(subject)?.runId ?? "");
    const expected = known && !isEnded(known.state) ? known.id : run.id;
    if (answer.runId !== expected) history.broken("S10", answer.runId, `gathers ${subject} next to ${expected}`);
    if (answer.runId === run.id) history.add(run, writeTicket(ticket));
    const gatherer = history.runs.get(answer.runId);
    if (!gatherer || !gathers(gatherer)) history.broken("S10", answer.runId, `does not gather, and got ${subject}`);
    history.gathering.set(subject, { runId: answer.runId, payload: run.input, atUs: history.nowUs });
  }
}

function gathers({ journal, baseSeq }: ModelRun): boolean {
  return readTicket(journal[baseSeq]?.key) !== null;
}

/** The fence holds as for a commit; the run's log tells whether this very call was written before. */
export function checkSettle(history: History, applied: Of<"events.settleDebounced">): void {
  const {
    args: [claim, expectedSeq],
    answer,
  } = applied;
  const run = history.runs.get(claim.runId);
  if (!run) {
    if (answer.outcome !== "lost") history.broken("S1", claim.runId, `${answer.outcome} without a run`);
    return;
  }
  if (run.journal[expectedSeq]?.token === claim.token) {
    history.expect(answer.outcome !== "lost", "S1", run, "what was written was called lost");
    return;
  }
  const held = run.state === "running" && run.epoch === claim.epoch && run.token === claim.token;
  const mine = held && expectedSeq === run.seq;
  history.expect(mine === (answer.outcome !== "lost"), "S4", run, `${answer.outcome} at ${expectedSeq}, held: ${held}`);
  if (mine) settle(history, run, applied);
}

function settle(
  history: History,
  run: ModelRun,
  { args: [claim, , ticket], answer }: Of<"events.settleDebounced">,
): void {
  const subject = subjectOf(run.env, ticket);
  const last = history.gathering.get(subject);
  const quiet = last !== undefined && last.atUs + ticket.windowMs * 1000 <= history.nowUs;
  history.expect(last?.runId === run.id, "S10", run, `settles ${subject}, which ${last?.runId} gathers for`);
  history.expect(answer.outcome === (quiet ? "begins" : "waits"), "S10", run, `${answer.outcome}, quiet: ${quiet}`);
  run.streak = 0;
  if (answer.outcome === "begins") {
    const row = history.tables.journal.get(run.id)?.get(run.seq + 1);
    history.expect(
      row?.payload?.data === last?.payload.data,
      "S10",
      run,
      `began with ${row?.payload?.data}, not with the last`,
    );
    history.append(run, claim.token, { kind: "start", name: "", key: null, payload: last?.payload ?? null });
    history.nextGeneration(run);
    history.gathering.delete(subject);
  } else history.append(run, claim.token, { kind: "parked", name: "", key: null, payload: null });
  history.observe(run);
}

/** An event whose run has ended without it is lost, unless that was stopped before it could begin. L3 is about the others. */
export function checkGathered(history: History): void {
  for (const [subject, { runId }] of history.gathering) {
    const { state } = history.runs.get(runId) ?? history.removed.get(runId) ?? { state: "gone" as const };
    const excused = state === "cancelled" || state === "dead" || (state !== "gone" && !isEnded(state));
    if (!excused) history.broken("S10", runId, `the last event of ${subject} is lost`);
  }
}

/**
 * The windows of one interval are an interval apart, whichever stack's nodes fire them. A failover may lose when a schedule began,
 * and a clock that is set back may repeat a part of it.
 */
export function checkWindows(history: History, program: string, everyMs: number, env = "default"): void {
  if (history.disturbedAt >= 0) return;
  const fired = [...history.runs.values()].filter((run) => run.program === program && run.env === env);
  const windows = fired.flatMap(({ id, journal }) => {
    const { window } = JSON.parse(journal[0]!.payload!.data) as { window?: string };
    return window === undefined ? [] : { id, at: Date.parse(window) };
  });
  windows.sort((a, b) => a.at - b.at);
  for (const [i, { id, at }] of windows.entries()) {
    const before = windows[i - 1];
    if (before && at - before.at < everyMs)
      history.broken("S10", id, `a window ${at - before.at} ms after ${before.id}`);
  }
}
