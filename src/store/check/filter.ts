// Checks the filters, pages and ages of reads and removals.

import { InvalidInput } from "../../kernel/error.js";
import { attributesOf } from "../../kernel/run/attribute.js";
import { ENDED_STATES, RUN_STATES } from "../../kernel/run/run-state.js";
import type { EndedRuns, RunFilter } from "../contract/run/runs.js";
import {
  type Check,
  checkDelay,
  checkLimit,
  checkOneOf,
  checkText,
  checkUuid,
  integer,
  listOf,
  optional,
  ruled,
  shape,
} from "./value.js";

const LONGEST_PAGE = 1000;
/** The time in an id has 48 bits. */
const LATEST_MS = 2 ** 48 - 1;
const checkInstant = integer(0, LATEST_MS);

export const checkFilter = shape<RunFilter>("filter", {
  env: checkText,
  stack: optional(checkText),
  program: optional(checkText),
  queue: optional(checkText),
  from: optional(checkInstant),
  to: optional(checkInstant),
  owner: optional(checkUuid),
  parent: optional(checkUuid),
  keyPrefix: optional(checkText),
  attributes: optional(ruled(attributesOf)),
  deferred: optional((path, value) => (value === true ? null : new InvalidInput(path, "must be true, or omitted"))),
  states: optional((path, states) => listOf("states", (_, state) => checkOneOf(path, state, RUN_STATES))(path, states)),
});

export const checkPage = shape<{ limit: number; before?: string }>("page", {
  limit: integer(1, LONGEST_PAGE),
  before: optional(checkUuid),
});

export const checkAge = shape<{ env: string; endedBeforeMs: number; limit: number }>("age", {
  env: checkText,
  endedBeforeMs: checkDelay,
  limit: checkLimit,
});

const ENDED_RUNS = {
  env: checkText,
  endedBeforeMs: checkDelay,
  states: optional((path, states) =>
    listOf("states", (_, state) => checkOneOf(path, state, ENDED_STATES))(path, states),
  ),
  program: optional(checkText),
  queue: optional(checkText),
  runIds: optional((path, ids) => {
    const problem = listOf("run ids", checkUuid)(path, ids);
    if (problem || (ids as readonly unknown[]).length <= LONGEST_PAGE) return problem;
    return new InvalidInput(path, `at most ${LONGEST_PAGE} run ids`);
  }),
} satisfies Record<keyof EndedRuns, Check>;
export const checkEnded = shape<EndedRuns>("options", ENDED_RUNS);
export const checkEndedToTake = shape<EndedRuns & { limit: number }>("options", { ...ENDED_RUNS, limit: checkLimit });

/** What is done to a number of rows of an env. */
export const checkRound = shape<{ env: string; limit: number }>("options", { env: checkText, limit: checkLimit });
