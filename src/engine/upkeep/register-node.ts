// Registers a node: the groups it serves, the settings by which other nodes judge it, and the claims that it reclaims.

import { HoldfastError } from "../../kernel/error.js";
import type { NodeMode } from "../../kernel/node-mode.js";
import type { Rival } from "../../store/contract/node/nodes.js";
import type { ProgramFacts } from "../../store/contract/node/programs.js";
import type { Assignments } from "../claiming/assignments.js";
import type { NodeParts } from "../node-parts.js";
import { reviewMisfits } from "./misfits.js";
import { reportReclaimed } from "./reclaim-counts.js";

/** The node asked to be alone, or a live one did. The message names that node and what to do. */
export class NotAlone extends HoldfastError {
  readonly code = "NOT_ALONE";
  /** The node that also claims. */
  readonly by: Rival;

  constructor(where: { readonly env: string; readonly stack: string | null }, by: Rival) {
    const scope = where.stack === null ? `env ${where.env}` : `env ${where.env}, stack ${where.stack}`;
    const who = by.name === by.identity ? by.name : `${by.name} (${by.identity})`;
    super(
      by.alone
        ? `node ${who} asked to be alone in ${scope} (flow.claiming: false); stop it, or start both with flow.claiming: true`
        : `this node asks to be alone (flow.claiming: false), but ${who} is alive in ${scope}; stop that node, or omit flow.claiming`,
    );
    this.by = by;
  }
}

/** Another start has replaced this node. Its later writes are refused. */
export class NodeReplaced extends HoldfastError {
  readonly code = "NODE_REPLACED";

  constructor(identity: string) {
    super(`node ${identity} was found dead, and another node has replaced it; it stops`);
  }
}

/** Null, or why the node cannot work. `again`: it was registered before, and its programs may have changed since. */
export async function registerNode(
  options: NodeParts & { readonly mode: NodeMode; readonly facts: () => readonly ProgramFacts[] },
  assignments: Assignments,
  again: boolean,
): Promise<HoldfastError | null> {
  const { store, settings, env, stack, incarnation, identity, name, build, alone, bus, modes, mode } = options;
  await assignments.number();
  const { housekeepingMs: heartbeatMs, leaseMs, presenceGraceMs } = settings;
  const { groupIds: serves, executors } = assignments;
  const who = { incarnation, identity, name, env, stack, build, alone };
  // Where it reclaims nothing, a callback decides on orphans, also on those of this identity's last process.
  const judged = { heartbeatMs, leaseMs, presenceGraceMs, reclaims: options.reclaimer !== "off" };
  const answer = await store.nodes.register({ ...who, serves, executors, mode, ...judged, programs: options.facts() });
  if (answer.outcome === "refused") return new NotAlone({ env, stack }, answer.by);
  if (answer.outcome === "stopped") return new NodeReplaced(identity);
  modes.set(answer.mode);
  // The store knows what it serves; what it claims from differs in another mode, and after a change of programs.
  if (again || assignments.claimable().length < serves.length) await assignments.tell();
  await assignments.declare();
  reportReclaimed(bus, answer.reclaimed);
  await reviewMisfits({ store, bus, env, newcomer: incarnation });
  return null;
}
