// Checks whether a run can be stored; an invalid one is refused alone, the others of its batch are stored.

import * as names from "../../../kernel/name.js";
import { attributesOf } from "../../../kernel/run/attribute.js";
import type { NewDeferral, NewKey, NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import { RECOVERIES } from "../../../kernel/run/recovery.js";
import { checkLimits } from "../limit/limits.js";
import * as v from "../value.js";

const PRIORITY_MIN = -(2 ** 31);
const LIFETIMES = ["live", "archived"];
const ON_MISMATCH = ["conflict", "skip"];

export const checkGroup = v.shape<RunGroup>("group", {
  env: v.named(names.envName),
  stack: v.optional(v.named(names.stackName)),
  queue: v.named(names.queueName),
  program: v.named(names.programName),
  version: v.optional(v.named(names.versionName)),
});

export const checkAttributes = v.ruled(attributesOf);

const checkId = v.shape<NewRun>("run", { id: v.checkUuid });
const checkMore = v.shape<NewRun>("run", {
  priority: v.integer(PRIORITY_MIN),
  delayMs: v.checkDelay,
  crashLimit: v.integer(1),
  recovery: v.optional(v.among(RECOVERIES)),
  input: v.checkPayload,
  parentId: v.optional(v.checkUuid),
  limits: v.optional(checkLimits),
  deferred: v.optional(
    v.shape<NewDeferral>("deferred", { by: v.named(names.nodeName), expiresInMs: v.optional(v.checkDelay) }),
  ),
  attributes: v.optional(checkAttributes),
});

const checkKey = v.shape<NewKey>("key", {
  scope: v.named(names.keyScope),
  key: v.named(names.dedupeKey),
  payloadHash: v.named(names.dedupeKey),
  lifetime: checkLifetime,
  onMismatch: v.among(ON_MISMATCH),
});

/** `groups` remembers within one call what was found: the runs of a batch mostly share one group object. */
export function checkRun(path: string, run: unknown, key?: unknown, groups?: Map<RunGroup, v.Problem>): v.Problem {
  const at = (field: string) => (path ? `${path}.${field}` : field);
  return (
    checkId(path, run) ??
    checkGroupOnce(at("group"), (run as NewRun).group, groups) ??
    checkMore(path, run) ??
    (key === undefined ? null : checkKey(at("key"), key))
  );
}

/** The id of a refused run in the answer, whatever value was given. */
export function idOf(run: unknown): string {
  const id: unknown = (run as { id?: unknown } | null | undefined)?.id;
  return typeof id === "string" ? id : "";
}

function checkGroupOnce(path: string, group: RunGroup, groups?: Map<RunGroup, v.Problem>): v.Problem {
  const known = groups?.get(group);
  if (known !== undefined) return known;
  const problem = checkGroup(path, group);
  groups?.set(group, problem);
  return problem;
}

export function checkLifetime(path: string, lifetime: unknown): v.Problem {
  if (typeof lifetime !== "object" || lifetime === null) return v.checkOneOf(path, lifetime, LIFETIMES);
  return v.checkDelay(`${path}.forMs`, (lifetime as { forMs?: unknown }).forMs);
}
