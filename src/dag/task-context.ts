// The context of a task's function: a workflow's context, and what is special about a task.

import { InvalidInput } from "../kernel/error.js";
import type { Replay } from "../replay/replay.js";
import type { Context } from "../workflow/context.js";
import { type Surroundings, WorkflowContext } from "../workflow/workflow-context.js";

/** What a task's function gets: steps, waits and children as in a workflow, and the DAG's input. */
// biome-ignore lint/suspicious/noExplicitAny: a helper may take the context of any task
export interface TaskContext<In = any> extends Omit<Context, "continueAsNew"> {
  /** The DAG's input. */
  readonly input: In;
  /** The id of the DAG's own run. */
  readonly dagRunId: string;
  /** Its name in the DAG. */
  readonly task: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** The same for every attempt, on every node: pass it to outside systems. */
  readonly idempotencyKey: string;
  /** Rises with every takeover: an outside system can reject calls with an older one. */
  readonly fence: bigint;
  /**
   * Aborts when the task is cancelled, paused or timed out, when its claim is lost, and when its node's grace period
   * ends.
   */
  readonly signal: AbortSignal;
}

export class TaskRunContext extends WorkflowContext implements TaskContext {
  readonly input: unknown;
  readonly dagRunId: string;
  readonly task: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly fence: bigint;
  readonly #of: Replay;

  constructor(
    replay: Replay,
    surroundings: Surroundings,
    { input, dagRunId, task }: Pick<TaskContext, "input" | "dagRunId" | "task">,
  ) {
    super(replay, surroundings);
    const { runId, baseSeq, failures, epoch } = replay.session.run;
    this.input = input;
    this.dagRunId = dagRunId;
    this.task = task;
    this.attempt = failures + 1;
    this.idempotencyKey = `${runId}:${baseSeq}`;
    this.fence = BigInt(epoch);
    this.#of = replay;
  }

  get signal(): AbortSignal {
    return this.#of.signal;
  }

  override continueAsNew(): Promise<never> {
    throw new InvalidInput("continueAsNew", "a task cannot continue as new; start a workflow as its child instead");
  }
}
