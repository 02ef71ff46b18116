// What the store carried out: one record per operation, in the order in which it was applied. Typed from the table of operations.

import type { NewRun } from "../kernel/run/new-run.js";
import type { Commit, CommitAnswer } from "../store/contract/claim/commits.js";
import type { Reclaimed } from "../store/contract/claim/recovery.js";
import type { DebounceAnswer, StartAnswer } from "../store/contract/event/events.js";
import type { MethodOf, OperationName } from "../store/operation.js";

interface Carried<Name extends OperationName> {
  readonly op: Name;
  readonly args: Readonly<Parameters<MethodOf<Name>>>;
  readonly answer: Awaited<ReturnType<MethodOf<Name>>>;
}

/** A step that is a transaction: its commit, and the runs that its statements inserted, there when it was accepted and only then. */
interface Transacted {
  readonly op: "runs.transact";
  readonly args: readonly [commit: Commit, inserted: readonly NewRun[]];
  readonly answer: CommitAnswer;
}

export type Applied = {
  [Name in OperationName]: Name extends "runs.transact" ? Transacted : Carried<Name>;
}[OperationName];
export type Of<Name extends OperationName> = Extract<Applied, { op: Name }>;

const id = (runId: string) => runId.slice(-6);
const list = <T>(items: readonly T[], show: (item: T, i: number) => string) => items.map(show).join(" ");
const outcomes = (answers: readonly { readonly runId: string; readonly outcome: string }[]) =>
  list(answers, ({ runId, outcome }) => `${id(runId)}:${outcome}`);
const swept = (reclaimed: readonly Reclaimed[]) => `sweep ${outcomes(reclaimed)}`;

type Describe = { readonly [Name in OperationName]?: (applied: Of<Name>) => string };

const DESCRIBE: Describe = {
  "runs.insert": ({ answer }) => `insert ${outcomes(answer)}`,
  "runs.claim": ({ answer }) => `claim ${list(answer, ({ runId, epoch, seq }) => `${id(runId)}:e${epoch}@${seq}`)}`,
  "runs.renew": ({ args: [claims], answer }) =>
    `renew ${list(claims, (claim, i) => `${id(claim.runId)}:${answer[i]!.outcome}`)}`,
  "runs.commit": ({ args: [commits], answer }) =>
    `commit ${list(commits, (commit, i) => `${describeCommit(commit)}:${answer[i]!.outcome}`)}`,
  "runs.transact": ({ args: [commit, inserted], answer }) =>
    `transact ${describeCommit(commit)}:${answer.outcome} ${list(inserted, (run) => id(run.id))}`,
  "runs.retry": ({ args: [runIds], answer }) =>
    `retry ${list(runIds, (runId, i) => `${id(runId)}:${answer[i]!.outcome}`)}`,
  "runs.reclaimExpired": ({ answer }) => swept(answer),
  "runs.recover": ({ answer }) => swept(answer),
  reclaim: ({ answer }) => swept(answer),
  "nodes.register": ({ answer }) => swept(answer.outcome === "registered" ? answer.reclaimed : []),
  "runs.reviewMisfits": ({ answer }) => `review ${outcomes(answer)}`,
  "runs.expireDeferred": ({ answer }) => `expire ${list(answer, ({ runId }) => id(runId))}`,
  "runs.wakeParked": ({ answer }) => `wake ${answer}`,
  "runs.admit": ({ answer }) => `admit ${answer}`,
  "runs.pause": ({ args: [runId] }) => `pause ${id(runId)}`,
  "runs.resume": ({ args: [runId] }) => `resume ${id(runId)}`,
  "runs.cancelTasks": ({ args: [runId] }) => `cancelTasks ${id(runId)}`,
  "runs.cancel": ({ args: [runId], answer }) => `cancel ${id(runId)}:${answer.outcome}`,
  "runs.reconcile": ({ answer: { replayed, skipped } }) => `reconcile ${replayed} of ${replayed + skipped}`,
  "inbox.send": ({ args: [messages], answer }) =>
    `send ${list(messages, ({ runId, key }, i) => `${id(runId)}:${key}:${answer[i]!.outcome}`)}`,
  "events.subscribe": ({ args: [{ subscriptions }], answer }) => `subscribe ${subscriptions.length}, ${answer} removed`,
  "events.match": ({ args: [events], answer }) =>
    `match ${list(events, ({ event }, i) => `${event}:${answer[i]!.length}`)}`,
  "events.start": ({ args: [events], answer }) =>
    `start ${list(events, ({ event }, i) => `${event}:${shownStart(answer[i]!)}`)}`,
  "events.debounce": ({ args: [events], answer }) =>
    `debounce ${list(events, ({ run, ticket }, i) => `${ticket.subject}:${id(run.id)}:${shownGatherer(answer[i]!)}`)}`,
  "events.accept": ({ args: [events], answer }) =>
    `accept ${list(events, ({ debounced }, i) => `${debounced.map(({ run }) => id(run.id))}:${answer[i]!.outcome}`)}`,
  "events.settleDebounced": ({ args: [claim, expectedSeq], answer }) =>
    `settle ${id(claim.runId)}:e${claim.epoch}@${expectedSeq}:${answer.outcome}`,
  "breakers.read": ({ args: [questions], answer }) =>
    `breakers ${list(questions, ({ program }, i) => `${program}:${answer[i]!.state}`)}`,
  "breakers.takeProbe": ({ args: [{ runId, probe }], answer }) => `probe ${id(runId)}:${probe}:${answer}`,
  cleanUp: ({ args: [{ part }], answer }) => `clean ${part}: ${answer?.removed ?? "not its turn"}`,
};

/** One short line for the trace; ids are cut, payloads left out. */
export function describeApplied(applied: Applied): string {
  const describe = DESCRIBE[applied.op] as ((applied: Applied) => string) | undefined;
  return describe?.(applied) ?? applied.op;
}

function shownStart(answer: StartAnswer): string {
  return answer.outcome === "started" ? outcomes(answer.runs).replaceAll(" ", ",") : answer.outcome;
}

function shownGatherer(answer: DebounceAnswer): string {
  return answer.outcome === "gathered" ? id(answer.runId) : answer.outcome;
}

function describeCommit({ claim, expectedSeq, effects }: Commit): string {
  const shown = effects.map((effect) => {
    if (effect.kind === "append") return `${effect.entry.kind}(${effect.entry.name},${effect.entry.key ?? ""})`;
    return effect.kind === "take" ? `take(${effect.messageKey})` : effect.kind;
  });
  return `${id(claim.runId)}:e${claim.epoch}@${expectedSeq}[${shown.join(",")}]`;
}
