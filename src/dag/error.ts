// Errors of DAG definitions and of DAG runs.

import type { Coder } from "../kernel/codec/codec.js";
import type { RecordedError, StoredError } from "../kernel/codec/recorded-error.js";
import { encodeError, storeError } from "../kernel/codec/stored-error.js";
import { cutText } from "../kernel/cut-text.js";
import { HoldfastError } from "../kernel/error.js";

/** The DAG cannot be run as written. Thrown where it is defined, before any node has it. */
export class DagInvalid extends HoldfastError {
  readonly code = "DAG_INVALID";

  constructor(dag: string, problem: string) {
    super(`The DAG ${JSON.stringify(dag)} cannot be run: ${problem}`);
  }
}

export interface TaskFailure {
  readonly task: string;
  readonly runId: string;
  readonly error: StoredError;
}

/** Some tasks failed. The results of the others are kept: a retry of the run repeats only the failed ones. */
export class DagFailed extends HoldfastError {
  readonly code = "DAG_FAILED";
  /** The tasks that failed, with the ids of their runs. */
  readonly details: { readonly failed: readonly { readonly task: string; readonly runId: string }[] };
  /** One per failed task, in the order of `details.failed`. */
  readonly errors: readonly Error[];

  constructor(dag: string, failures: readonly TaskFailure[], errors: readonly Error[]) {
    const lines = failures.map(({ task, error }) => `\n- ${task}: ${error.message}`);
    super(
      `${failures.length} ${failures.length === 1 ? "task" : "tasks"} of ${JSON.stringify(dag)} failed. ` +
        `Fix the cause and retry the run: tasks that succeeded are kept.${lines.join("")}`,
    );
    this.details = { failed: failures.map(({ task, runId }) => ({ task, runId })) };
    this.errors = errors;
  }
}

/** With stacks, causes and details; of further failures only the message. */
const WHOLE_ERRORS = 20;
const SHORT_MESSAGE_BYTES = 200;

/** As the stored error of the run, with every failure: errors in general are stored with fewer parts. */
export function storeDagFailed<Stored>(
  coder: Coder<Stored>,
  dag: string,
  failures: readonly (TaskFailure & { readonly thrown: RecordedError })[],
): Stored {
  const whole = failures.slice(0, WHOLE_ERRORS).map(({ thrown }) => thrown);
  const error = new DagFailed(dag, failures, whole);
  const stored = encodeError(error);
  const short = failures.slice(WHOLE_ERRORS).map(({ error: { name, message, code } }): StoredError => {
    return { name, message: cutText(message, SHORT_MESSAGE_BYTES), ...(code !== undefined && { code }) };
  });
  const errors = [...(stored.errors ?? []), ...short];
  try {
    return coder.encode({ ...stored, details: error.details, errors }, "error");
  } catch {
    return storeError(coder, error);
  }
}

/** Some items of a fan-out failed; the others were finished. */
export class EachFailed extends HoldfastError {
  readonly code = "EACH_FAILED";
  /** The indexes of the items that failed. */
  readonly details: { readonly failed: readonly number[] };
  /** The error of each of them. */
  readonly errors: readonly Error[];

  constructor(task: string, of: number, failed: readonly number[], errors: readonly Error[]) {
    super(
      `${failed.length} of ${of} items of ${JSON.stringify(task)} failed, the first at index ${failed[0]}: ` +
        `${errors[0]?.message ?? "the reason is unknown"}. Retry the DAG's run: the items that succeeded are kept.`,
    );
    this.details = { failed };
    this.errors = errors;
  }
}

/** An attempt of a task took longer than its timeout. */
export class TaskTimeout extends HoldfastError {
  readonly code = "TASK_TIMEOUT";

  constructor(task: string, ms: number) {
    super(`An attempt of the task ${JSON.stringify(task)} had no result within ${ms} ms.`);
  }
}
