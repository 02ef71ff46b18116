// The operations on runs as values: starting, stopping, reading, retrying and removing them.

import { InvalidInput } from "../../../kernel/error.js";
import { isUuid } from "../../../kernel/id.js";
import { envName, nodeName, outputKey, stackName } from "../../../kernel/name.js";
import { attributeChangesOf } from "../../../kernel/run/attribute.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { AttributeChange, RunAttributes } from "../../contract/run/attributes.js";
import type { RunDeferrals, StackQuery } from "../../contract/run/deferrals.js";
import type { MisfitReview, RunMisfits } from "../../contract/run/misfits.js";
import type { OutputCall, RunOutputs } from "../../contract/run/outputs.js";
import type { RunRecords } from "../../contract/run/records.js";
import type { RunRetention } from "../../contract/run/retention.js";
import type { RetryCall, RunRetries } from "../../contract/run/retry.js";
import type { InsertAnswer, RunStarts } from "../../contract/run/starts.js";
import type { RunStops } from "../../contract/run/stops.js";
import { CHANGES, type Each, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkEnded, checkEndedToTake, checkFilter, checkPage, checkRound } from "../filter.js";
import * as v from "../value.js";
import { checkGroup, checkRun, idOf } from "./run.js";

const noSuchId = (id: unknown) => !isUuid(id);
const checkIds = v.listOf("run ids", () => null);
const checkGroups = v.listOf("groups", checkGroup);
const checkStop = v.whole(
  v.shape<{ by: string; reason?: string }>("options", { by: v.named(nodeName), reason: v.optional(v.checkText) }),
);
/** Of a call for a run that does not exist. */
const unknown = { when: noSuchId, answer: { outcome: "unknown" } } as const;

/** Measured before it is checked, so it accepts any value. */
export const runSize = (run: Pick<NewRun, "limits" | "input">) => ({
  rows: 1 + (run?.limits?.length ?? 0),
  bytes: run?.input?.data?.length ?? 0,
});

/** The runs of a call mostly share one group object: it is checked once. */
const eachRun: Each<NewRun, InsertAnswer> = {
  checker: () => {
    const groups = new Map<RunGroup, v.Problem>();
    return (run) => checkRun("", run, run?.key, groups);
  },
  refused: (run, error) => ({ outcome: "refused", runId: idOf(run), error }),
};

const checkFindKey = v.shape<{ env: string; scope: string; key: string }>("key", {
  env: v.checkText,
  scope: v.checkText,
  key: v.checkText,
});

const starts = {
  groupIds: {
    ...CHANGES,
    changes: "numbers of new claim groups",
    check: (groups) => checkGroups("groups", groups),
  },
  insert: {
    ...CHANGES,
    changes: "runs, their keys, and the start in their journals",
    tx: true,
    each: eachRun,
    batch: { ...MOST_AT_ONCE, sizeOf: runSize, gathers: true },
  },
  findKey: { ...READS, check: v.whole(checkFindKey) },
  keyOf: { ...READS, absent: { when: noSuchId, answer: null } },
} satisfies OperationsOf<RunStarts>;

const stops = {
  cancel: {
    ...CHANGES,
    changes: "a run and its tasks: ended, or asked to end",
    check: (_runId, options) => checkStop(options),
    absent: unknown,
  },
  pause: {
    ...CHANGES,
    changes: "a run and its tasks: paused, or asked to pause",
    check: (_runId, options) => checkStop(options),
    absent: unknown,
  },
  resume: {
    ...CHANGES,
    changes: "a paused run and its tasks",
    check: (_runId, options) => checkStop(options),
    absent: unknown,
  },
  stopping: { ...READS, absent: { when: noSuchId, answer: null } },
} satisfies OperationsOf<RunStops>;

const deferrals = {
  expireDeferred: {
    ...CHANGES,
    changes: "deferred runs that no node took in time: cancelled",
    check: v.whole(checkRound),
  },
  unservedGroups: { ...READS, check: checkStackQuery },
} satisfies OperationsOf<RunDeferrals>;

const attributes = {
  setAttributes: {
    ...CHANGES,
    changes: "the search attributes of a run",
    tx: true,
    check: (change) => v.shape<AttributeChange>("change", { attributes: v.ruled(attributeChangesOf) })("", change),
    absent: { when: ({ runId }) => noSuchId(runId), answer: { outcome: "unknown" } },
  },
} satisfies OperationsOf<RunAttributes>;

const outputs = {
  takeOutput: {
    ...CHANGES,
    changes: "the key of an output",
    tx: true,
    check: v.whole(
      v.shape<OutputCall>("call", {
        env: v.named(envName),
        key: v.named(outputKey),
        runId: v.checkUuid,
        call: v.checkText,
        keepMs: v.checkDelay,
      }),
    ),
  },
} satisfies OperationsOf<RunOutputs>;

const records = {
  get: { ...READS, absent: { when: noSuchId, answer: null } },
  glance: { ...READS, each: { checker: () => (id) => v.checkUuid("runId", id), refused: () => null } },
  list: { ...READS, check: (filter, page) => checkFilter("filter", filter) ?? checkPage("page", page) },
  count: { ...READS, check: (filter) => checkFilter("filter", filter) },
} satisfies OperationsOf<RunRecords>;

const retention = {
  archive: { ...CHANGES, changes: "ended runs: archived, and their keys free", check: v.whole(checkEndedToTake) },
  prune: { ...CHANGES, changes: "ended runs: deleted", check: v.whole(checkEndedToTake) },
  countPrunable: { ...READS, check: v.whole(checkEnded) },
} satisfies OperationsOf<RunRetention>;

const retries = {
  retry: {
    ...CHANGES,
    changes: "failed, dead and quarantined runs: retried; others with `tasks` or `rewinds`",
    check: (runIds, options) => checkIds("runIds", runIds) ?? checkRetry(options),
    each: { checker: () => (id) => v.checkUuid("runId", id), refused: () => ({ outcome: "unknown" }) },
  },
} satisfies OperationsOf<RunRetries>;

const misfits = {
  reviewMisfits: {
    ...CHANGES,
    changes: "runs that some code does not fit: claimable again, or quarantined",
    check: v.whole(
      v.shape<MisfitReview>("review", { env: v.checkText, limit: v.checkLimit, newcomer: v.optional(v.checkUuid) }),
    ),
  },
} satisfies OperationsOf<RunMisfits>;

export const RUN_OPERATIONS = {
  ...starts,
  ...stops,
  ...deferrals,
  ...attributes,
  ...outputs,
  ...records,
  ...retention,
  ...retries,
  ...misfits,
};

function checkRetry(options: RetryCall): v.Problem {
  const check = v.shape<RetryCall>("options", {
    by: v.named(nodeName),
    callId: v.checkUuid,
    fromStart: v.checkBoolean,
    note: v.optional(v.checkPayload),
    tasks: v.optional(v.listOf("run ids", v.checkUuid)),
    after: v.optional(v.checkBoolean),
    rewinds: v.optional(v.checkBoolean),
  });
  const problem = check("", options);
  if (problem) return problem;
  if (options.rewinds && (!options.note || options.tasks))
    return new InvalidInput("rewinds", "needs a note and no tasks");
  if (!options.fromStart) return null;
  const misplaced = (["note", "tasks"] as const).find((name) => options[name] !== undefined);
  return misplaced ? new InvalidInput(misplaced, "is for a run that continues where it was") : null;
}

/** A program is given without its env. */
function checkStackQuery(query: StackQuery): v.Problem {
  const checkProgram = (path: string, program: unknown): v.Problem =>
    v.checkObject(path, program) ?? checkGroup(path, { env: query.env, ...(program as object) });
  const check = v.shape<StackQuery>("query", {
    env: v.named(envName),
    own: v.optional(v.named(stackName)),
    stacks: v.nullable(v.listOf("stacks", v.named(stackName))),
    programs: v.listOf("programs", checkProgram),
  });
  return check("", query);
}
