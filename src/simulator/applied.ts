// What the store carried out: one record per operation that changes something, in the order in which it was applied.

import type { Claim } from "../kernel/claim.js";
import type { NewRun } from "../kernel/new-run.js";
import type { NewMessage, SendAnswer } from "../store/contract/inbox.js";
import type { Redrive, RedriveAnswer } from "../store/contract/redrive.js";
import type {
  CancelAnswer,
  ClaimedRun,
  ClaimRequest,
  Commit,
  CommitAnswer,
  InsertAnswer,
  Reclaimed,
  RenewAnswer,
} from "../store/contract/runs.js";

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
      readonly op: "redrive";
      readonly runIds: readonly string[];
      readonly options: Redrive;
      readonly answers: readonly RedriveAnswer[];
    }
  | { readonly op: "sweep"; readonly reclaimed: readonly Reclaimed[] }
  | { readonly op: "expire"; readonly runIds: readonly string[] }
  | { readonly op: "wake"; readonly count: number }
  | { readonly op: "admit"; readonly count: number }
  | { readonly op: "cancel"; readonly runId: string; readonly answer: CancelAnswer }
  | { readonly op: "send"; readonly messages: readonly NewMessage[]; readonly answers: readonly SendAnswer[] };

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
    case "redrive":
      return `redrive ${list(applied.runIds, (runId, i) => `${id(runId)}:${applied.answers[i]!.outcome}`)}`;
    case "sweep":
      return `sweep ${list(applied.reclaimed, ({ runId, outcome }) => `${id(runId)}:${outcome}`)}`;
    case "expire":
      return `expire ${list(applied.runIds, id)}`;
    case "wake":
    case "admit":
      return `${applied.op} ${applied.count}`;
    case "cancel":
      return `cancel ${id(applied.runId)}:${applied.answer.outcome}`;
    case "send":
      return `send ${list(applied.messages, ({ runId, key }, i) => `${id(runId)}:${key}:${applied.answers[i]!.outcome}`)}`;
  }
}

function describeCommit({ claim, expectedSeq, effects }: Commit): string {
  const shown = effects.map((effect) => {
    if (effect.kind === "append") return `${effect.entry.kind}(${effect.entry.name},${effect.entry.key ?? ""})`;
    return effect.kind === "take" ? `take(${effect.messageKey})` : effect.kind;
  });
  return `${claim.runId.slice(-6)}:e${claim.epoch}@${expectedSeq}[${shown.join(",")}]`;
}
