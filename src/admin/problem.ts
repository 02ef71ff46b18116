// The errors of the admin API itself, and the HTTP status of every error that a handler may throw.

import { HoldfastError } from "../kernel/error.js";
import type { Permission } from "./permission.js";

export class ApiProblem extends HoldfastError {
  readonly code: string;
  readonly status: number;
  readonly permission: Permission | undefined;

  constructor(status: number, code: string, message: string, permission?: Permission) {
    super(message);
    this.status = status;
    this.code = code;
    this.permission = permission;
  }
}

export function notFound(what: string): ApiProblem {
  return new ApiProblem(404, "NOT_FOUND", `${what} does not exist; it may have been pruned.`);
}

const STATUS: Readonly<Record<string, number>> = {
  RUN_UNKNOWN: 404,
  NODE_UNKNOWN: 404,
  SCHEDULE_UNKNOWN: 404,
  INSTANCE_UNKNOWN: 404,
  DEFINITION_UNAVAILABLE: 404,
  POSITION_UNKNOWN: 404,
  KEY_CONFLICT: 409,
  DECISION_CONFLICT: 409,
  DECISION_STALE: 409,
  GATE_CLOSED: 409,
  RUN_ENDED: 409,
  REWIND_REFUSED: 409,
  DEFINITION_CONFLICT: 409,
  DEFINITION_IN_USE: 409,
  NODE_AMBIGUOUS: 409,
  SCHEDULE_AMBIGUOUS: 409,
  INSTANCE_ENDED: 409,
  INVALID_INPUT: 422,
  LIMIT_EXCEEDED: 422,
  INPUT_REFUSED: 422,
  DAG_INVALID: 422,
  STRATEGY_UNKNOWN: 422,
  STORE_UNAVAILABLE: 503,
  STORE_FAILED: 503,
  STORE_CLOSED: 503,
  SCHEMA_MISSING: 503,
};

export interface ProblemAnswer {
  readonly status: number;
  readonly body: {
    readonly code: string;
    readonly message: string;
    readonly requestId: string;
    readonly permission?: Permission;
  };
}

/** An error that is not one of ours says nothing about itself: its message may hold a secret. */
export function answerTo(error: unknown, requestId: string): ProblemAnswer {
  if (error instanceof ApiProblem) {
    const { status, code, message, permission } = error;
    return { status, body: { code, message, requestId, ...(permission && { permission }) } };
  }
  const status = error instanceof HoldfastError ? STATUS[error.code] : undefined;
  if (error instanceof HoldfastError && status === 503) {
    const message = "The database does not answer. Try again.";
    return { status, body: { code: error.code, message, requestId } };
  }
  if (error instanceof HoldfastError && status !== undefined) {
    return { status, body: { code: error.code, message: error.message, requestId } };
  }
  return {
    status: 500,
    body: {
      code: "INTERNAL",
      message: `The request failed. Look for ${requestId} in the log of this server.`,
      requestId,
    },
  };
}
