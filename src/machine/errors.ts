// Errors of instances, each with its code.

import { HoldfastError } from "../kernel/error.js";
import type { InstanceStatus } from "../store/contract/machine/machines.js";
import { isOfTheStore } from "../store/contract/trouble.js";

/** No instance of the machine has this id. */
export class InstanceUnknown extends HoldfastError {
  readonly code = "INSTANCE_UNKNOWN";

  constructor(machine: string, id: string) {
    super(`There is no instance ${JSON.stringify(id)} of machine ${JSON.stringify(machine)}. Start it first.`);
  }
}

/** The id belongs to an instance that was started with other input. */
export class InstanceConflict extends HoldfastError {
  readonly code = "INSTANCE_CONFLICT";

  constructor(machine: string, id: string) {
    super(
      `Machine ${JSON.stringify(machine)} has an instance ${JSON.stringify(id)} that was started with other input. ` +
        "Use another id.",
    );
  }
}

/** The instance is done or was stopped: it takes no events. */
export class InstanceEnded extends HoldfastError {
  readonly code = "INSTANCE_ENDED";
  /** How it ended. */
  readonly status: InstanceStatus;
  /** The sequence of its end. */
  readonly seq: number;

  constructor(id: string, status: InstanceStatus, seq: number) {
    super(`Instance ${JSON.stringify(id)} is ${status}; nothing was changed. Start another one.`);
    this.status = status;
    this.seq = seq;
  }
}

/** Other writers were faster, repeatedly, or the instance is not at the sequence the caller has seen. */
export class SequenceConflict extends HoldfastError {
  readonly code = "SEQUENCE_CONFLICT";
  /** The sequence that the caller expected. */
  readonly expected: number;
  /** The current sequence number. */
  readonly actual: number;

  constructor(id: string, expected: number, actual: number) {
    super(
      `Instance ${JSON.stringify(id)} is at sequence ${actual}, not ${expected}; nothing was changed. ` +
        "Read its state again, then decide.",
    );
    this.expected = expected;
    this.actual = actual;
  }
}

/**
 * The current definition does not know the stored state. Nothing is lost: the instance continues when code that knows
 * it is deployed.
 */
export class InstanceQuarantined extends HoldfastError {
  readonly code = "INSTANCE_QUARANTINED";

  constructor(id: string, problem: string, options?: { cause?: unknown }) {
    super(
      `Instance ${JSON.stringify(id)} cannot continue with this code: ${problem} ` +
        "Deploy code that knows its state, or pass `migrate` or `renamed` to machine().",
      options,
    );
  }
}

/** A guard, an assignment or a delay threw. Nothing was written. */
export class TransitionFailed extends HoldfastError {
  readonly code = "TRANSITION_FAILED";

  constructor(machine: string, type: string, cause: unknown) {
    const message = cause instanceof Error ? cause.message : String(cause);
    super(`Machine ${JSON.stringify(machine)} threw at event ${JSON.stringify(type)}: ${message}`, { cause });
  }
}

/** A step sends to an actor that is not running, or to a parent that the instance does not have. Nothing was written. */
export class ReceiverUnknown extends HoldfastError {
  readonly code = "RECEIVER_UNKNOWN";

  constructor(id: string, type: string, receiver: string) {
    super(
      `Instance ${JSON.stringify(id)} cannot send ${JSON.stringify(type)}: it has no ${receiver} now. ` +
        "Only a machine that a state invokes has an instance to send to, and only while it is in that state.",
    );
  }
}

/** Another process works on the instance under its lease. */
export class InstanceBusy extends HoldfastError {
  readonly code = "INSTANCE_BUSY";

  constructor(id: string, waitedMs: number) {
    super(`Instance ${JSON.stringify(id)} has been held by another process for ${waitedMs} ms. Try again.`);
  }
}

/** The instance did not reach the state in time. It continues. */
export class WaitTimeout extends HoldfastError {
  readonly code = "WAIT_TIMEOUT";

  constructor(id: string, ms: number) {
    super(`Instance ${JSON.stringify(id)} did not reach the state within ${ms} ms. It continues; wait again.`);
  }
}

const PASSING: readonly unknown[] = ["SEQUENCE_CONFLICT", "INSTANCE_BUSY"];

/** The store is away, or another process holds the instance: the same call succeeds later. */
export function isPassing(error: unknown): boolean {
  return isOfTheStore(error) || PASSING.includes((error as { code?: unknown } | null)?.code);
}
