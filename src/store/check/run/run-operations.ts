// The operations on runs as values: starting, stopping, reading, retrying and removing them.

import { isUuid } from "../../../kernel/id.js";
import { nodeName } from "../../../kernel/name.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { RunDeferrals } from "../../contract/run/deferrals.js";
import type { RunMisfits } from "../../contract/run/misfits.js";
import type { RunRecords } from "../../contract/run/records.js";
import type { RunRetries } from "../../contract/run/retry.js";
import type { InsertAnswer, RunStarts } from "../../contract/run/starts.js";
import type { RunStops } from "../../contract/run/stops.js";
import { CHANGES, type Each, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkStackQuery } from "../claim/recovery.js";
import { checkAge, checkFilter, checkPage } from "../filter.js";
import { checkLimit, checkName, checkText, checkUuid, firstProblem, optional, type Problem } from "../value.js";
import { checkRetry } from "./retry.js";
import { checkGroup, checkRun, idOf } from "./run.js";

const noSuchId = (id: unknown) => !isUuid(id);
const checkBy = (by: unknown) => checkName(nodeName, "by", by);

/** Measured before it is checked, so it accepts any value. */
export const runSize = (run: Pick<NewRun, "limits" | "input">) => ({
  rows: 1 + (run?.limits?.length ?? 0),
  bytes: run?.input?.data?.length ?? 0,
});

/** The runs of a call mostly share one group object: it is checked once. */
const eachRun: Each<NewRun, InsertAnswer> = {
  checker: () => {
    const groups = new Map<RunGroup, Problem>();
    return (run) => checkRun("", run, run?.key, groups);
  },
  refused: (run, error) => ({ outcome: "refused", runId: idOf(run), error }),
};

const starts = {
  groupIds: {
    ...CHANGES,
    changes: "numbers of new claim groups",
    check: (groups) => firstProblem(groups, (group, i) => checkGroup(`groups[${i}]`, group)),
  },
  insert: {
    ...CHANGES,
    changes: "runs, their keys, and the start in their journals",
    tx: true,
    each: eachRun,
    batch: { ...MOST_AT_ONCE, sizeOf: runSize, gathers: true },
  },
  keyOf: { ...READS, absent: { when: noSuchId, answer: null } },
} satisfies OperationsOf<RunStarts>;

const stops = {
  cancel: {
    ...CHANGES,
    changes: "a run and its tasks: ended, or asked to end",
    check: (_runId, { by, reason }) => checkBy(by) ?? optional(checkText)("reason", reason),
    absent: { when: noSuchId, answer: { outcome: "unknown" } },
  },
  pause: {
    ...CHANGES,
    changes: "a run and its tasks: paused, or asked to pause",
    check: (_runId, { by }) => checkBy(by),
    absent: { when: noSuchId, answer: { outcome: "unknown" } },
  },
  resume: {
    ...CHANGES,
    changes: "a paused run and its tasks",
    check: (_runId, { by }) => checkBy(by),
    absent: { when: noSuchId, answer: { outcome: "unknown" } },
  },
  stopping: { ...READS, absent: { when: noSuchId, answer: null } },
} satisfies OperationsOf<RunStops>;

const deferrals = {
  expireDeferred: {
    ...CHANGES,
    changes: "deferred runs that no node took in time: cancelled",
    check: ({ env, limit }) => checkLimit("limit", limit) ?? checkText("env", env),
  },
  unservedGroups: { ...READS, check: checkStackQuery },
} satisfies OperationsOf<RunDeferrals>;

const records = {
  get: { ...READS, absent: { when: noSuchId, answer: null } },
  glance: { ...READS, each: { checker: () => (id) => checkUuid("runId", id), refused: () => null } },
  list: { ...READS, check: (filter, page) => checkFilter(filter) ?? checkPage(page) },
  count: { ...READS, check: checkFilter },
  archive: { ...CHANGES, changes: "ended runs: archived, and their keys free", check: checkAge },
  prune: { ...CHANGES, changes: "ended runs: deleted", check: checkAge },
} satisfies OperationsOf<RunRecords>;

const retries = {
  retry: {
    ...CHANGES,
    changes: "failed, dead and quarantined runs: retried",
    check: checkRetry,
    each: { checker: () => (id) => checkUuid("runId", id), refused: () => ({ outcome: "unknown" }) },
  },
} satisfies OperationsOf<RunRetries>;

const misfits = {
  reviewMisfits: {
    ...CHANGES,
    changes: "runs that some code does not fit: claimable again, or quarantined",
    check: ({ env, limit, newcomer }) =>
      checkText("env", env) ?? checkLimit("limit", limit) ?? optional(checkUuid)("newcomer", newcomer),
  },
} satisfies OperationsOf<RunMisfits>;

export const RUN_OPERATIONS = { ...starts, ...stops, ...deferrals, ...records, ...retries, ...misfits };
