// What this node cannot continue by itself: the run is left to a node with other code, or a person decides. The journal stays as it is.

import { HoldfastError } from "../kernel/error.js";

export abstract class NeedsPeople extends HoldfastError {
  /** Whether other code may continue it. */
  readonly otherCode: boolean = true;
}

/** The journal knows a node that the graph no longer has. The log is untouched: the run goes on when code that fits is deployed. */
export class GraphChanged extends NeedsPeople {
  readonly code = "GRAPH_CHANGED";

  constructor(path: string) {
    super(
      `The journal has ${JSON.stringify(path)} under way, and the graph has no such node. ` +
        "The run continues on a node with a graph that has it; or rewind it to a node that is there.",
    );
  }
}

/** A run was to go on from a node that the run it comes from has not come to, or that run is gone. */
export class PositionUnknown extends NeedsPeople {
  readonly code = "POSITION_UNKNOWN";
  override readonly otherCode = false;

  constructor(runId: string, position: string) {
    super(
      `Run ${runId} has not come to ${JSON.stringify(position)}, or is gone. \`graphs.history\` lists where it was.`,
    );
  }
}

/** A gate was asked about one plan, and the graph would now carry out another: no decision on the first may pass it. */
export class PlanChanged extends NeedsPeople {
  readonly code = "PLAN_CHANGED";

  constructor(path: string, visit: string) {
    super(
      `The plan of ${path}:${visit} is not the one that was shown when it was asked. ` +
        "The run continues on a node with the graph that asked; or rewind it to the gate, to ask again.",
    );
  }
}

/** What is recorded cannot be made a state again: `init` or a reducer threw. */
export class StateFailed extends NeedsPeople {
  readonly code = "STATE_FAILED";
  readonly by: "init" | "reducer";

  constructor(by: StateFailed["by"], cause: unknown) {
    const said = by === "init" ? "`init` threw" : "a reducer threw over an update that is recorded";
    super(`The state of the run cannot be made: ${said}. The run continues on a node with code that can.`, { cause });
    this.by = by;
  }
}
