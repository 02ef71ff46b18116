// Checks whether a commit can be stored at all, before its fence is checked; an invalid one is refused alone.

import { InvalidInput } from "../../../kernel/error.js";
import type { Claim } from "../../../kernel/run/claim.js";
import { EFFECTS, type Effect, type EnqueueEffect, settles } from "../../../kernel/run/effect.js";
import type { Commit, CommitAnswer, RunCommits } from "../../contract/claim/commits.js";
import type { Transaction } from "../../contract/transaction.js";
import * as v from "../value.js";
import { checkEffect } from "./effect-checks.js";

const IN_COMMIT = "in this commit";

/** Checks the commits of one call, one after the other; the second under one claim is refused. */
export function commitChecker(): (commit: unknown) => v.Problem {
  const seen = new Set<string>();
  return (commit) => {
    const problem = v.checkObject("commit", commit) ?? checkClaim("claim", (commit as Commit).claim);
    if (problem) return problem;
    const { runId, token } = (commit as Commit).claim;
    const fence = `${runId} ${token}`;
    if (seen.has(fence)) return new InvalidInput("commits", `two commits under one claim on run ${runId} in one call`);
    seen.add(fence);
    return checkCommit(commit as Commit);
  };
}

function checkCommit({ expectedSeq, effects }: Commit): v.Problem {
  return (
    v.checkSeq("expectedSeq", expectedSeq) ??
    checkKinds("effects", effects) ??
    problemOfEffects(effects) ??
    checkEffects(effects)
  );
}

export const checkClaim = v.shape<Claim>("claim", { runId: v.checkUuid, epoch: v.checkSeq, token: v.checkUuid });
const checkKinds = v.listOf("effects", v.shape<Effect>("effect", { kind: v.among(Object.keys(EFFECTS)) }));

function checkEffects(effects: readonly Effect[]): v.Problem {
  for (let i = 0; i < effects.length; i++) {
    const bad = checkEffect(`effects[${i}]`, effects[i]!);
    if (bad) return bad;
  }
  return effects.length > 1 || effects[0]!.kind === "enqueue" ? checkTogether(effects) : null;
}

/** What effects say of each other. */
function checkTogether(effects: readonly Effect[]): v.Problem {
  const taken = new Set<string>();
  const started = new Set<string>();
  const tasks = new Set<string>();
  for (let i = 0; i < effects.length; i++) {
    const effect = effects[i]!;
    const bad =
      (effect.kind === "take" ? v.checkOnce(`effects[${i}].messageKey`, effect.messageKey, taken, IN_COMMIT) : null) ??
      (effect.kind === "enqueue" ? v.checkOnce(`effects[${i}].run.id`, effect.run.id, started, IN_COMMIT) : null) ??
      (effect.kind === "enqueue" ? checkTask(`effects[${i}].task`, effect, tasks) : null);
    if (bad) return bad;
  }
  return null;
}

/** The tasks that it needs precede it: so no task can need itself, and tasks that need each other have one parent. */
function checkTask(path: string, { task, run }: EnqueueEffect, tasks: Set<string>): v.Problem {
  if (task === undefined) return null;
  const once = new Set<string>();
  const checkNeed: v.Check = (at, need) =>
    v.checkUuid(at, need) ??
    v.checkOnce(at, need as string, once, IN_COMMIT) ??
    (tasks.has(need as string) ? null : new InvalidInput(at, "is no task that precedes it in this commit"));
  const problem = v.checkObject(path, task) ?? v.listOf("ids", checkNeed)(`${path}.needs`, task.needs);
  if (problem) return problem;
  tasks.add(run.id);
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

/** At least one effect, at most one that settles, and that one last. */
function problemOfEffects(effects: readonly Effect[]): InvalidInput | null {
  if (effects.length === 0) return new InvalidInput("effects", "a commit needs at least one effect");
  for (const [i, effect] of effects.entries()) {
    if (settles(effect) && i < effects.length - 1) {
      return new InvalidInput(`effects[${i}]`, `${effect.kind} releases the claim and must be the last effect`);
    }
    if (effect.kind === "retry" && !isDelay(effect.delayMs)) {
      return new InvalidInput(`effects[${i}].delayMs`, "must be zero or more milliseconds");
    }
    if (effect.kind === "park") {
      if (effect.wakeInMs !== null && !isDelay(effect.wakeInMs)) {
        return new InvalidInput(`effects[${i}].wakeInMs`, "must be null or zero or more milliseconds");
      }
      if (!Number.isInteger(effect.wakeAfter) || effect.wakeAfter < 1) {
        return new InvalidInput(`effects[${i}].wakeAfter`, "must be a whole number of at least 1");
      }
    }
  }
  return null;
}

function isDelay(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0;
}
