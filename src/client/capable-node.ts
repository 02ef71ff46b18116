// Whether anybody could take a run: a live node that claims from its group.

import type { RunGroup } from "../kernel/new-run.js";
import type { NodeRecord } from "../store/contract/nodes.js";
import type { RunRecord } from "../store/contract/runs.js";

/** True for a run that waits although no live node has its program, in the version it is pinned to. */
export function lacksCapableNode({ state, group }: Pick<RunRecord, "state" | "group">, nodes: readonly NodeRecord[]) {
  return state === "waiting" && !nodes.some(({ alive, claims }) => alive && claims.some((one) => isSame(one, group)));
}

/** A node lists each group it claims from, those for any stack and any version, too. */
function isSame(a: RunGroup, b: RunGroup): boolean {
  return (
    a.env === b.env && a.stack === b.stack && a.queue === b.queue && a.program === b.program && a.version === b.version
  );
}
