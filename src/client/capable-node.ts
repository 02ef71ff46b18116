// Whether anybody could take a run: a live node that claims from its group and whose code was not found unfit for it.

import type { RunGroup } from "../kernel/run/new-run.js";
import type { NodeRecord } from "../store/contract/node/nodes.js";
import { namesOf } from "../store/contract/run/misfits.js";
import type { RunRecord } from "../store/contract/run/runs.js";

/** True for a run that waits although no live node has its program, in the version it is pinned to, or code that may fit. */
export function lacksCapableNode(
  { state, group, misfit }: Pick<RunRecord, "state" | "group" | "misfit">,
  nodes: readonly NodeRecord[],
): boolean {
  const tried = misfit?.builds ?? [];
  const fits = ({ build, incarnation }: NodeRecord) => !namesOf(build, incarnation).some((one) => tried.includes(one));
  return state === "waiting" && !nodes.some((node) => claimsFrom(node, group) && fits(node));
}

/** Of the live nodes that claim from its group, each once. */
export function liveBuilds({ group }: Pick<RunRecord, "group">, nodes: readonly NodeRecord[]): readonly string[] {
  return [...new Set(nodes.filter((node) => claimsFrom(node, group)).flatMap(({ build }) => build ?? []))].sort();
}

function claimsFrom({ alive, claims }: NodeRecord, group: RunGroup): boolean {
  return alive && claims.some((one) => isSame(one, group));
}

/** A node lists each group it claims from, those for any stack and any version, too. */
function isSame(a: RunGroup, b: RunGroup): boolean {
  return (
    a.env === b.env && a.stack === b.stack && a.queue === b.queue && a.program === b.program && a.version === b.version
  );
}
