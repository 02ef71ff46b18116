// Whether a commit can be stored at all, judged before its fence; a bad one is refused alone.

import { problemOfEffects } from "../../kernel/check-commit.js";
import type { Effect } from "../../kernel/effect.js";
import { InvalidInput } from "../../kernel/error.js";
import type { Commit } from "../contract/runs.js";
import { checkRun } from "./run.js";
import { checkDelay, checkPayload, checkText, type Problem } from "./value.js";

export function checkCommit({ effects }: Commit): Problem {
  const problem = problemOfEffects(effects) ?? checkTakenOnce(effects);
  if (problem) return problem;
  for (let i = 0; i < effects.length; i++) {
    const bad = checkEffect(`effects[${i}]`, effects[i]!);
    if (bad) return bad;
  }
  return null;
}

function checkEffect(path: string, effect: Effect): Problem {
  switch (effect.kind) {
    case "append":
      return checkEntry(`${path}.entry`, effect.entry);
    case "take":
      return checkText(`${path}.messageKey`, effect.messageKey);
    case "enqueue":
      return checkText(`${path}.name`, effect.name) ?? checkRun(`${path}.run`, effect.run);
    case "complete":
      return checkPayload(`${path}.output`, effect.output);
    case "fail":
      return checkPayload(`${path}.reason`, effect.reason);
    case "retry":
      return checkDelay(`${path}.delayMs`, effect.delayMs) ?? checkPayload(`${path}.error`, effect.error);
    case "park":
      return checkDelay(`${path}.wakeInMs`, effect.wakeInMs);
    case "handBack":
    case "pause":
      return null;
  }
}

function checkEntry(path: string, entry: Extract<Effect, { kind: "append" }>["entry"]): Problem {
  return (
    checkText(`${path}.kind`, entry.kind) ??
    checkText(`${path}.name`, entry.name) ??
    checkText(`${path}.key`, entry.key) ??
    checkPayload(`${path}.payload`, entry.payload)
  );
}

function checkTakenOnce(effects: readonly Effect[]): Problem {
  const keys = effects.map((effect) => (effect.kind === "take" ? effect.messageKey : null));
  const again = keys.findIndex((key, i) => key !== null && keys.indexOf(key) < i);
  return again === -1 ? null : new InvalidInput(`effects[${again}].messageKey`, "is taken twice in this commit");
}
