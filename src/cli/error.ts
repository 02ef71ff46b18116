// Errors of the command line; each message says what to do next.

import { HoldfastError } from "../kernel/error.js";
import type { RunState } from "../kernel/run/run-state.js";

/** The command line cannot be understood; nothing was done. */
export class CommandMisused extends HoldfastError {
  readonly code = "COMMAND_MISUSED";
}

/** The person who was asked did not agree; nothing was done. */
export class NotConfirmed extends HoldfastError {
  readonly code = "NOT_CONFIRMED";
}

export class DatabaseNotSet extends HoldfastError {
  readonly code = "DATABASE_NOT_SET";

  constructor(folder: string) {
    super(
      "No database: set HOLDFAST_DATABASE_URL (or DATABASE_URL), pass --url postgres://user@host:5432/database, " +
        `or start the embedded server; none was found in ${folder}.`,
    );
  }
}

/** Nothing answers at the address, or the login was refused. */
export class DatabaseUnreachable extends HoldfastError {
  readonly code = "DATABASE_UNREACHABLE";
}

export class DefinitionUnknown extends HoldfastError {
  readonly code = "DEFINITION_UNKNOWN";

  constructor(name: string) {
    super(`There is no definition ${JSON.stringify(name)}. List them with \`holdfast definitions\`.`);
  }
}

/** Only failed, dead and quarantined runs can be retried. */
export class RunNotRetried extends HoldfastError {
  readonly code = "RUN_NOT_RETRIED";

  constructor(runId: string, state: RunState) {
    super(`Run ${runId} is ${state}; only failed, dead and quarantined runs can be retried. Nothing was changed.`);
  }
}

/** A task is retried with its DAG. */
export class RunIsTask extends HoldfastError {
  readonly code = "RUN_IS_TASK";

  constructor(runId: string, of: string) {
    super(
      `Run ${runId} is a task of run ${of}. Retry that run: of its tasks, only those that did not succeed run again.`,
    );
  }
}

/** Only paused runs can be resumed. */
export class RunNotPaused extends HoldfastError {
  readonly code = "RUN_NOT_PAUSED";

  constructor(runId: string, state: RunState) {
    super(`Run ${runId} is ${state}, not paused. Nothing was changed.`);
  }
}

/** The run is not, or no longer, waiting for a decision. */
export class NothingToDecide extends HoldfastError {
  readonly code = "NOTHING_TO_DECIDE";

  constructor(runId: string, name: string | undefined) {
    super(`Run ${runId} is not waiting for a decision${name === undefined ? "" : ` named ${JSON.stringify(name)}`}.`);
  }
}

/** The beginning of an id matches several runs. */
export class RunAmbiguous extends HoldfastError {
  readonly code = "RUN_AMBIGUOUS";

  constructor(prefix: string, ids: readonly string[]) {
    super(`Several runs begin with ${prefix}, among them ${ids.join(" and ")}. Give more characters of the id.`);
  }
}
