// What the store carried out: one record per operation that changes something, in the order in which it was applied.

import type { Claim } from "../kernel/run/claim.js";
import type { DebounceTicket } from "../kernel/run/debounce-ticket.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { Cleaned, CleanRound } from "../store/contract/cleanup.js";
import type {
  DebounceAnswer,
  EventToMatch,
  EventToStart,
  Matched,
  NewDebounced,
  SettleDebounced,
  StartAnswer,
  Subscription,
} from "../store/contract/event/events.js";
import type { NewMessage, SendAnswer } from "../store/contract/inbox/inbox.js";
import type { BreakerQuestion, BreakerRecord, ProbeRequest } from "../store/contract/limit/breakers.js";
import type { MisfitReviewed } from "../store/contract/run/misfits.js";
import type { RetryAnswer, RetryCall } from "../store/contract/run/retry.js";
import type {
  CancelAnswer,
  ClaimedRun,
  ClaimRequest,
  Commit,
  CommitAnswer,
  InsertAnswer,
  Reclaimed,
  Reconciled,
  RenewAnswer,
} from "../store/contract/run/runs.js";

export type Applied =
  | { readonly op: "insert"; readonly runs: readonly NewRun[]; readonly answers: readonly InsertAnswer[] }
  | { readonly op: "claim"; readonly request: ClaimRequest; readonly granted: readonly ClaimedRun[] }
  | {
      readonly op: "renew";
      readonly claims: readonly Claim[];
      readonly leaseMs: number;
      readonly answers: readonly RenewAnswer[];
    }
  | { readonly op: "commit"; readonly commits: readonly Commit[]; readonly answers: readonly CommitAnswer[] }
  | {
      readonly op: "transact";
      readonly commit: Commit;
      readonly answer: CommitAnswer;
      /** What its statements inserted: there when the commit was accepted, and only then. */
      readonly inserted: readonly NewRun[];
    }
  | {
      readonly op: "retry";
      readonly runIds: readonly string[];
      readonly options: RetryCall;
      readonly answers: readonly RetryAnswer[];
    }
  /** `replaced`: at the start of a process, from earlier lives of it. */
  | { readonly op: "sweep"; readonly reclaimed: readonly Reclaimed[]; readonly replaced?: boolean }
  | { readonly op: "expire"; readonly runIds: readonly string[] }
  | { readonly op: "review"; readonly reviewed: readonly MisfitReviewed[] }
  | { readonly op: "wake"; readonly count: number }
  | { readonly op: "admit"; readonly count: number }
  | { readonly op: "cancel"; readonly runId: string; readonly answer: CancelAnswer }
  /** On a run and all its tasks. */
  | { readonly op: "pause" | "resume" | "cancelTasks"; readonly runId: string }
  | { readonly op: "reconcile"; readonly answer: Reconciled }
  | { readonly op: "send"; readonly messages: readonly NewMessage[]; readonly answers: readonly SendAnswer[] }
  | { readonly op: "subscribe"; readonly subscriptions: readonly Subscription[]; readonly removed: number }
  | {
      readonly op: "match";
      readonly events: readonly EventToMatch[];
      readonly answers: readonly (readonly Matched[])[];
    }
  | { readonly op: "start"; readonly events: readonly EventToStart[]; readonly answers: readonly StartAnswer[] }
  | { readonly op: "debounce"; readonly events: readonly NewDebounced[]; readonly answers: readonly DebounceAnswer[] }
  | {
      readonly op: "settle";
      readonly claim: Claim;
      readonly expectedSeq: number;
      readonly ticket: DebounceTicket;
      readonly answer: SettleDebounced;
    }
  | {
      readonly op: "breakers";
      readonly questions: readonly BreakerQuestion[];
      readonly answers: readonly BreakerRecord[];
    }
  | { readonly op: "probe"; readonly request: ProbeRequest; readonly taken: boolean }
  | { readonly op: "clean"; readonly round: CleanRound; readonly cleaned: Cleaned | null };

/** Answers what it was given, and has it recorded. */
export type Recorder = <T>(applying: Promise<T>, record: (answer: T) => Applied) => Promise<T>;

/** One short line for the trace; ids are cut, payloads left out. */
export function describeApplied(applied: Applied): string {
  const id = (runId: string) => runId.slice(-6);
  const list = <T>(items: readonly T[], show: (item: T, i: number) => string) => items.map(show).join(" ");
  switch (applied.op) {
    case "insert":
      return `insert ${list(applied.answers, ({ runId, outcome }) => `${id(runId)}:${outcome}`)}`;
    case "claim":
      return `claim ${list(applied.granted, ({ runId, epoch, seq }) => `${id(runId)}:e${epoch}@${seq}`)}`;
    case "renew":
      return `renew ${list(applied.claims, (claim, i) => `${id(claim.runId)}:${applied.answers[i]!.outcome}`)}`;
    case "commit":
      return `commit ${list(applied.commits, (commit, i) => `${describeCommit(commit)}:${applied.answers[i]!.outcome}`)}`;
    case "transact":
      return `transact ${describeCommit(applied.commit)}:${applied.answer.outcome} ${list(applied.inserted, (run) => id(run.id))}`;
    case "retry":
      return `retry ${list(applied.runIds, (runId, i) => `${id(runId)}:${applied.answers[i]!.outcome}`)}`;
    case "sweep":
      return `sweep ${list(applied.reclaimed, ({ runId, outcome }) => `${id(runId)}:${outcome}`)}`;
    case "review":
      return `review ${list(applied.reviewed, ({ runId, outcome }) => `${id(runId)}:${outcome}`)}`;
    case "expire":
      return `expire ${list(applied.runIds, id)}`;
    case "wake":
    case "admit":
      return `${applied.op} ${applied.count}`;
    case "pause":
    case "resume":
    case "cancelTasks":
      return `${applied.op} ${id(applied.runId)}`;
    case "reconcile":
      return `reconcile ${applied.answer.replayed} of ${applied.answer.replayed + applied.answer.skipped}`;
    case "cancel":
      return `cancel ${id(applied.runId)}:${applied.answer.outcome}`;
    case "subscribe":
      return `subscribe ${applied.subscriptions.length}, ${applied.removed} removed`;
    case "match":
      return `match ${list(applied.events, ({ event }, i) => `${event}:${applied.answers[i]!.length}`)}`;
    case "start":
      return `start ${list(applied.events, ({ event }, i) => `${event}:${shownStart(applied.answers[i]!, id)}`)}`;
    case "debounce":
      return `debounce ${list(applied.events, ({ run, ticket }, i) => `${ticket.subject}:${id(run.id)}:${shownGatherer(applied.answers[i]!)}`)}`;
    case "settle":
      return `settle ${id(applied.claim.runId)}:e${applied.claim.epoch}@${applied.expectedSeq}:${applied.answer.outcome}`;
    case "breakers":
      return `breakers ${list(applied.questions, ({ program }, i) => `${program}:${applied.answers[i]!.state}`)}`;
    case "probe":
      return `probe ${id(applied.request.runId)}:${applied.request.probe}:${applied.taken}`;
    case "clean":
      return `clean ${applied.round.part}: ${applied.cleaned?.removed ?? "not its turn"}`;
    case "send":
      return `send ${list(applied.messages, ({ runId, key }, i) => `${id(runId)}:${key}:${applied.answers[i]!.outcome}`)}`;
  }
}

function shownStart(answer: StartAnswer, id: (runId: string) => string): string {
  if (answer.outcome !== "started") return answer.outcome;
  return answer.runs.map(({ runId, outcome }) => `${id(runId)}:${outcome}`).join(",");
}

function shownGatherer(answer: DebounceAnswer): string {
  return answer.outcome === "gathered" ? answer.runId.slice(-6) : answer.outcome;
}

function describeCommit({ claim, expectedSeq, effects }: Commit): string {
  const shown = effects.map((effect) => {
    if (effect.kind === "append") return `${effect.entry.kind}(${effect.entry.name},${effect.entry.key ?? ""})`;
    return effect.kind === "take" ? `take(${effect.messageKey})` : effect.kind;
  });
  return `${claim.runId.slice(-6)}:e${claim.epoch}@${expectedSeq}[${shown.join(",")}]`;
}
