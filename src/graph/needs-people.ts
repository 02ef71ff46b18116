// Errors that this node cannot resolve: the run is left to a node with other code, or to a person. The journal stays
// unchanged.

import { HoldfastError } from "../kernel/error.js";

/** A run that stops until a person decides: it is quarantined with this error. */
export abstract class NeedsPeople extends HoldfastError {
  /** Whether other code may continue it. */
  readonly otherCode: boolean = true;
}

/**
 * The journal has a node that the graph no longer has. The journal is unchanged: the run resumes when fitting code is
 * deployed.
 */
export class GraphChanged extends NeedsPeople {
  readonly code = "GRAPH_CHANGED";

  constructor(path: string) {
    super(
      `The journal has ${JSON.stringify(path)} in progress, but the graph has no such node. ` +
        "The run continues on a node whose graph has it; or rewind it to a node that exists.",
    );
  }
}

/** A run was to begin at a node that the original run never visited, or that run no longer exists. */
export class PositionUnknown extends NeedsPeople {
  readonly code = "POSITION_UNKNOWN";
  override readonly otherCode = false;

  constructor(runId: string, position: string) {
    super(
      `Run ${runId} never visited ${JSON.stringify(position)}, or no longer exists. \`graphs.history\` lists its visits.`,
    );
  }
}

/**
 * An approval was asked about one plan, but the graph would now carry out another: a decision on the first does not
 * apply.
 */
export class PlanChanged extends NeedsPeople {
  readonly code = "PLAN_CHANGED";

  constructor(path: string, visit: string) {
    super(
      `The plan of ${path}:${visit} differs from the one that was shown. ` +
        "The run continues on a node with the graph that asked; or rewind it to the approval, to ask again.",
    );
  }
}

/** The state cannot be rebuilt from the journal: `init` or a reducer threw. */
export class StateFailed extends NeedsPeople {
  readonly code = "STATE_FAILED";
  /** The function that threw. */
  readonly by: "init" | "reducer";

  constructor(by: StateFailed["by"], cause: unknown) {
    const problem = by === "init" ? "`init` threw" : "a reducer threw on a recorded update";
    super(`The run's state cannot be rebuilt: ${problem}. The run continues on a node whose code can rebuild it.`, {
      cause,
    });
    this.by = by;
  }
}
