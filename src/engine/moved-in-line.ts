// Which commits leave something to admit.

import { settles } from "../kernel/effect.js";
import type { ClaimedRun, Commit } from "../store/contract/runs.js";

/** The runs whose keys are worth a look after this commit: limited children, and a limited run that gave its claim back. */
export function movedInLine({ claim, effects }: Commit): string[] {
  const children = effects.flatMap((effect) =>
    effect.kind === "enqueue" && (effect.run.limits?.length ?? 0) > 0 ? effect.run.id : [],
  );
  // A writer is opened with the whole claimed run.
  const { limited } = claim as Partial<ClaimedRun>;
  return limited && settles(effects.at(-1)!) ? [...children, claim.runId] : children;
}
