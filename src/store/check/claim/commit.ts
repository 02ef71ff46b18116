// Checks whether a commit can be stored at all, before its fence is checked; an invalid one is refused alone.

import { InvalidInput } from "../../../kernel/error.js";
import { problemOfEffects } from "../../../kernel/run/check-commit.js";
import { EFFECTS, type Effect, type EnqueueEffect } from "../../../kernel/run/effect.js";
import type { Commit, CommitAnswer, RunCommits } from "../../contract/claim/commits.js";
import type { Transaction } from "../../contract/transaction.js";
import { checkInteger, checkObject, checkOneOf, checkUuid, type Problem } from "../value.js";
import { checkEffect } from "./effect-checks.js";

const KINDS = Object.keys(EFFECTS);

/** Checks the commits of one call, one after the other; the second under one claim is refused. */
export function commitChecker(): (commit: unknown) => Problem {
  const seen = new Set<string>();
  return (commit) => {
    const problem = checkObject("commit", commit) ?? checkClaim("claim", (commit as Commit).claim);
    if (problem) return problem;
    const { runId, token } = (commit as Commit).claim;
    const fence = `${runId} ${token}`;
    if (seen.has(fence)) return new InvalidInput("commits", `two commits under one claim on run ${runId} in one call`);
    seen.add(fence);
    return checkCommit(commit as Commit);
  };
}

function checkCommit({ claim, expectedSeq, effects }: Commit): Problem {
  return (
    checkClaim("claim", claim) ??
    checkInteger("expectedSeq", expectedSeq, 0, Number.MAX_SAFE_INTEGER) ??
    checkKinds(effects) ??
    problemOfEffects(effects) ??
    checkEffects(effects)
  );
}

export function checkClaim(path: string, claim: unknown): Problem {
  const problem = checkObject(path, claim);
  if (problem) return problem;
  const { runId, epoch, token } = claim as Record<string, unknown>;
  return (
    checkUuid(`${path}.runId`, runId) ??
    checkInteger(`${path}.epoch`, epoch, 0, Number.MAX_SAFE_INTEGER) ??
    checkUuid(`${path}.token`, token)
  );
}

function checkKinds(effects: unknown): Problem {
  if (!Array.isArray(effects)) return new InvalidInput("effects", "must be a list of effects");
  for (let i = 0; i < effects.length; i++) {
    const bad = checkObject(`effects[${i}]`, effects[i]) ?? checkOneOf(`effects[${i}].kind`, effects[i].kind, KINDS);
    if (bad) return bad;
  }
  return null;
}

function checkEffects(effects: readonly Effect[]): Problem {
  const taken = new Set<string>();
  const started = new Set<string>();
  const tasks = new Set<string>();
  for (let i = 0; i < effects.length; i++) {
    const effect = effects[i]!;
    const bad =
      checkEffect(`effects[${i}]`, effect) ??
      (effect.kind === "take" ? checkOnce(`effects[${i}].messageKey`, effect.messageKey, taken) : null) ??
      (effect.kind === "enqueue" ? checkOnce(`effects[${i}].run.id`, effect.run.id, started) : null) ??
      (effect.kind === "enqueue" ? checkTask(`effects[${i}].task`, effect, tasks) : null);
    if (bad) return bad;
  }
  return null;
}

/** The tasks that it needs precede it: so no task can need itself, and tasks that need each other have one parent. */
function checkTask(path: string, { task, run }: EnqueueEffect, tasks: Set<string>): Problem {
  if (task === undefined) return null;
  const problem = checkObject(path, task);
  if (problem) return problem;
  if (!Array.isArray(task.needs)) return new InvalidInput(`${path}.needs`, "must be a list of ids");
  const once = new Set<string>();
  for (const [i, need] of task.needs.entries()) {
    const bad = checkUuid(`${path}.needs[${i}]`, need) ?? checkOnce(`${path}.needs[${i}]`, need, once);
    if (bad) return bad;
    if (!tasks.has(need)) return new InvalidInput(`${path}.needs[${i}]`, "is no task that precedes it in this commit");
  }
  tasks.add(run.id);
  return null;
}

function checkOnce(path: string, name: string, seen: Set<string>): Problem {
  if (seen.has(name)) return new InvalidInput(path, "is listed twice in this commit");
  seen.add(name);
  return null;
}

/** Its commit is known only when the work is done: thrown inside, it undoes the transaction, and is answered here. */
export function checkedTransact(transact: RunCommits["transact"]): RunCommits["transact"] {
  return async (work) => {
    let refused: CommitAnswer | null = null;
    const checkedWork = async (tx: Transaction): Promise<Commit> => {
      const commit = await work(tx);
      const error = commitChecker()(commit);
      if (!error) return commit;
      refused = { outcome: "refused", error };
      throw error;
    };
    try {
      return await transact(checkedWork);
    } catch (error) {
      if (refused !== null) return refused;
      throw error;
    }
  };
}
