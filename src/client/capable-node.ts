// Whether any live node could claim a run: it claims from the run's group, and its build is not known to be a misfit.

import type { RunGroup } from "../kernel/run/new-run.js";
import type { NodeRecord } from "../store/contract/node/nodes.js";
import { namesOf } from "../store/contract/run/misfits.js";
import type { RunRecord } from "../store/contract/run/runs.js";

/** True for a waiting run when no live node has its program, in the version it is pinned to, with code that may fit. */
export function lacksCapableNode(
  { state, group, misfit }: Pick<RunRecord, "state" | "group" | "misfit">,
  nodes: readonly NodeRecord[],
): boolean {
  const tried = misfit?.builds ?? [];
  const fits = ({ build, incarnation }: NodeRecord) => !namesOf(build, incarnation).some((one) => tried.includes(one));
  return state === "waiting" && !nodes.some((node) => claimsFrom(node, group) && fits(node));
}

/** Builds of the live nodes that claim from the run's group, each once. */
export function liveBuilds({ group }: Pick<RunRecord, "group">, nodes: readonly NodeRecord[]): readonly string[] {
  return [...new Set(nodes.filter((node) => claimsFrom(node, group)).flatMap(({ build }) => build ?? []))].sort();
}

/** Whether it is alive and takes runs of the group. */
export function claimsFrom({ alive, claims }: NodeRecord, group: RunGroup): boolean {
  return alive && claims.some((one) => isSame(one, group));
}

/** A node lists every group it claims from, including those for any stack and any version. */
function isSame(a: RunGroup, b: RunGroup): boolean {
  return (
    a.env === b.env && a.stack === b.stack && a.queue === b.queue && a.program === b.program && a.version === b.version
  );
}
