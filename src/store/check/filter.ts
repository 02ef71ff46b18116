// Checks the arguments of reads and removals: filters, pages, ages and limits.

import { RUN_STATES, type RunState } from "../../kernel/run/run-state.js";
import type { RunFilter } from "../contract/run/runs.js";
import {
  type Check,
  checkDelay,
  checkInteger,
  checkLimit,
  checkObject,
  checkOneOf,
  checkText,
  checkUuid,
  optional,
  type Problem,
} from "./value.js";

const LONGEST_PAGE = 1000;
/** The time in an id has 48 bits. */
const LATEST_MS = 2 ** 48 - 1;
const checkInstant: Check = (path, value) => checkInteger(path, value, 0, LATEST_MS);

export function checkFilter(filter: RunFilter): Problem {
  return (
    checkObject("filter", filter) ??
    checkText("filter.env", filter.env) ??
    optional(checkText)("filter.stack", filter.stack) ??
    optional(checkText)("filter.program", filter.program) ??
    optional(checkText)("filter.queue", filter.queue) ??
    optional(checkInstant)("filter.from", filter.from) ??
    optional(checkInstant)("filter.to", filter.to) ??
    optional(checkUuid)("filter.owner", filter.owner) ??
    (filter.states === undefined ? null : checkStates(filter.states))
  );
}

function checkStates(states: readonly RunState[]): Problem {
  const problems = Array.isArray(states)
    ? states.map((state) => checkOneOf("filter.states", state, RUN_STATES))
    : [checkOneOf("filter.states", states, RUN_STATES)];
  return problems.find((problem) => problem !== null) ?? null;
}

export function checkPage(page: { readonly limit: number; readonly before?: string }): Problem {
  return (
    checkObject("page", page) ??
    checkInteger("page.limit", page.limit, 1, LONGEST_PAGE) ??
    optional(checkUuid)("page.before", page.before)
  );
}

export function checkAge(age: {
  readonly env: string;
  readonly endedBeforeMs: number;
  readonly limit: number;
}): Problem {
  return checkText("env", age.env) ?? checkDelay("endedBeforeMs", age.endedBeforeMs) ?? checkLimit("limit", age.limit);
}

/** A part of a journal. */
export function checkPart({ after, limit }: { readonly after?: number; readonly limit?: number }): Problem {
  return (
    (after === undefined ? null : checkInteger("after", after, 0, Number.MAX_SAFE_INTEGER)) ??
    (limit === undefined ? null : checkInteger("limit", limit, 0, Number.MAX_SAFE_INTEGER))
  );
}
