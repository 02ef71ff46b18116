// The views as values.

import { DEAD_STATES, type DeadLetterRequest } from "../../contract/view/dead-letters.js";
import type { OutlineRequest, ViewRequest, ViewStore } from "../../contract/view/views.js";
import { MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkFilter } from "../filter.js";
import {
  checkInteger,
  checkObject,
  checkOneOf,
  checkText,
  checkUuid,
  listOf,
  optional,
  type Problem,
} from "../value.js";

const LONGEST_PAGE = 1_000;
const MOST_COUNTED = 1_000_000;
const HIGHEST = Number.MAX_SAFE_INTEGER;

function checkRequest(request: ViewRequest): Problem {
  return (
    checkObject("request", request) ??
    checkText("env", request.env) ??
    checkInteger("limit", request.limit, 1, LONGEST_PAGE) ??
    optional(checkText)("after", request.after)
  );
}

function checkOutline({ runId, after, before, limit }: OutlineRequest): Problem {
  const place = (path: string, value: unknown) => checkInteger(path, value, 0, HIGHEST);
  return (
    checkUuid("runId", runId) ??
    checkInteger("limit", limit, 1, LONGEST_PAGE) ??
    optional(place)("after", after) ??
    optional(place)("before", before)
  );
}

function checkDead(request: DeadLetterRequest & { readonly code?: string }): Problem {
  const states = listOf("states", (path, state) => checkOneOf(path, state, DEAD_STATES));
  return (
    checkRequest(request) ??
    optional(checkText)("program", request.program) ??
    optional(checkText)("queue", request.queue) ??
    optional(checkText)("code", request.code) ??
    optional(states)("states", request.states)
  );
}

export const VIEW_OPERATIONS = {
  runs: READS,
  count: {
    ...READS,
    check: (filter, most) => checkFilter("filter", filter) ?? checkInteger("most", most, 1, MOST_COUNTED),
  },
  outline: {
    ...READS,
    each: { checker: () => checkOutline, refused: () => null },
    batch: { ...MOST_AT_ONCE, sizeOf: ({ limit }) => ({ rows: Number(limit) || 1, bytes: 0 }) },
  },
  questions: { ...READS, check: checkRequest },
  takeovers: { ...READS, check: checkRequest },
  leases: { ...READS, check: (request) => checkRequest(request) ?? optional(checkText)("prefix", request.prefix) },
  timers: {
    ...READS,
    check: (request) => checkRequest(request) ?? checkOneOf("state", request.state, ["pending", "dead"]),
  },
  waitsFor: READS,
  envs: READS,
  ended: { ...READS, check: checkRequest },
  limits: { ...READS, check: checkRequest },
  deadLetters: { ...READS, check: checkDead },
  deadGroups: { ...READS, check: checkDead },
} satisfies OperationsOf<ViewStore>;
