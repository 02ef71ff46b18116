// What can go wrong with an instance, each with its code.

import { HoldfastError } from "../kernel/error.js";
import type { InstanceStatus } from "../store/contract/machine/machines.js";
import { isOfTheStore } from "../store/contract/trouble.js";

export class InstanceUnknown extends HoldfastError {
  readonly code = "INSTANCE_UNKNOWN";

  constructor(machine: string, id: string) {
    super(`There is no instance ${JSON.stringify(id)} of machine ${JSON.stringify(machine)}. Start it first.`);
  }
}

/** The id is taken by an instance that was started with other input. */
export class InstanceConflict extends HoldfastError {
  readonly code = "INSTANCE_CONFLICT";

  constructor(machine: string, id: string) {
    super(
      `Machine ${JSON.stringify(machine)} has an instance ${JSON.stringify(id)} that was started with other input. ` +
        "Use another id.",
    );
  }
}

/** It has reached its end or was stopped: it takes no events. */
export class InstanceEnded extends HoldfastError {
  readonly code = "INSTANCE_ENDED";
  readonly status: InstanceStatus;
  readonly seq: number;

  constructor(id: string, status: InstanceStatus, seq: number) {
    super(`Instance ${JSON.stringify(id)} is ${status}; nothing was changed. Start another one.`);
    this.status = status;
    this.seq = seq;
  }
}

/** Somebody else was faster, again and again, or the instance is not where the caller has seen it. */
export class SequenceConflict extends HoldfastError {
  readonly code = "SEQUENCE_CONFLICT";
  readonly expected: number;
  /** Where it is. */
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

/** The stored state is none of the current definition's. Nothing is lost: it goes on when code comes that knows it. */
export class InstanceQuarantined extends HoldfastError {
  readonly code = "INSTANCE_QUARANTINED";

  constructor(id: string, problem: string, options?: { cause?: unknown }) {
    super(
      `Instance ${JSON.stringify(id)} cannot go on with this code: ${problem} ` +
        "Deploy code that knows its state, or give machine() a `migrate` or `renamed`.",
      options,
    );
  }
}

/** A guard, an assignment or a delay threw. Nothing was written. */
export class TransitionFailed extends HoldfastError {
  readonly code = "TRANSITION_FAILED";

  constructor(machine: string, type: string, cause: unknown) {
    const said = cause instanceof Error ? cause.message : String(cause);
    super(`Machine ${JSON.stringify(machine)} threw at event ${JSON.stringify(type)}: ${said}`, { cause });
  }
}

/** Another process works on the instance under its lease. */
export class InstanceBusy extends HoldfastError {
  readonly code = "INSTANCE_BUSY";

  constructor(id: string, waitedMs: number) {
    super(`Instance ${JSON.stringify(id)} is held by somebody else, for ${waitedMs} ms now. Try again.`);
  }
}

/** The instance did not get there in time. It goes on. */
export class WaitTimeout extends HoldfastError {
  readonly code = "WAIT_TIMEOUT";

  constructor(id: string, ms: number) {
    super(`Instance ${JSON.stringify(id)} did not get there within ${ms} ms. It goes on; ask again.`);
  }
}

const PASSING: readonly unknown[] = ["SEQUENCE_CONFLICT", "INSTANCE_BUSY"];

/** The store is away, or others are at the instance: the same thing succeeds later. */
export function isPassing(error: unknown): boolean {
  return isOfTheStore(error) || PASSING.includes((error as { code?: unknown } | null)?.code);
}
