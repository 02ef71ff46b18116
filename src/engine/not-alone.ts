// Errors of a node that asks to be alone: another node is alive in its env and stack, or has replaced it.

import { HoldfastError } from "../kernel/error.js";
import type { Rival } from "../store/contract/node/nodes.js";

/** The node that is there already, and what to do. */
export class NotAlone extends HoldfastError {
  readonly code = "NOT_ALONE";
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
