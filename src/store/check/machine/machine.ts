// Checks the arguments of instance operations before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import { dedupeKey } from "../../../kernel/name.js";
import {
  type Append,
  type Change,
  INSTANCE_STATUSES,
  type NewInstance,
  type NewTold,
  type TimerClaim,
  type TimerSettlement,
} from "../../contract/machine/machines.js";
import { checkGroup, checkRun } from "../run/run.js";
import {
  checkDelay,
  checkInteger,
  checkName,
  checkObject,
  checkOneOf,
  checkPayload,
  checkText,
  checkUuid,
  optional,
  type Problem,
} from "../value.js";

const EVENT_KINDS = ["start", "event", "timer", "stop"];
const TIMER_KINDS = ["after", "raise", "sent"];
const SETTLED = ["retry", "keep", "untried", "dead", "drop"];
const LARGEST_SEQ = Number.MAX_SAFE_INTEGER;

const checkKey = (path: string, key: unknown) => checkName(dedupeKey, path, key);

export function checkCreate(one: NewInstance): Problem {
  return (
    checkObject("instance", one) ??
    checkUuid("key", one.key) ??
    checkKey("id", one.id) ??
    checkText("inputHash", one.inputHash) ??
    checkPayload("snapshot", one.snapshot) ??
    firstOf("redact", one.redact, checkText) ??
    checkGroup("group", one.group) ??
    checkChange(one)
  );
}

/** Checks the appends of one call, one after the other; the second for an instance is refused. */
export function appendChecker(): (append: Append) => Problem {
  const seen = new Set<string>();
  return (one) => {
    const problem =
      checkObject("append", one) ??
      checkUuid("key", one.key) ??
      checkInteger("expectedSeq", one.expectedSeq, 1, LARGEST_SEQ) ??
      checkGroup("group", one.group) ??
      checkChange(one) ??
      firstOf("cancelled", one.cancelled, checkUuid) ??
      firstOf("fired", one.fired, checkFired) ??
      checkApart(one);
    if (problem) return problem;
    if (seen.has(one.key)) return new InvalidInput("key", "is listed twice in this call");
    seen.add(one.key);
    return null;
  };
}

export function checkTimerClaim({ groups, limit, leaseMs, mostAttempts }: TimerClaim): Problem {
  return (
    firstOf("groups", groups, checkGroup) ??
    checkInteger("limit", limit, 1, 10_000) ??
    checkDelay("leaseMs", leaseMs) ??
    checkInteger("mostAttempts", mostAttempts, 1)
  );
}

export function checkSettlements(settlements: readonly TimerSettlement[]): Problem {
  return firstOf(
    "settlements",
    settlements,
    (path, one) =>
      checkFired(path, one) ??
      checkInteger(`${path}.attempts`, one.attempts, 0) ??
      checkOneOf(`${path}.as`, one.as, SETTLED) ??
      checkDelay(`${path}.delayMs`, one.delayMs) ??
      optional(checkText)(`${path}.problem`, one.problem),
  );
}

function checkChange(change: Change): Problem {
  if (!Array.isArray(change.events) || change.events.length === 0) {
    return new InvalidInput("events", "must be one or more");
  }
  return (
    checkUuid("token", change.token) ??
    checkOneOf("status", change.status, INSTANCE_STATUSES) ??
    checkText("value", change.value) ??
    optional(checkText)("version", change.version) ??
    optional(checkPayload)("snapshot", change.snapshot) ??
    firstOf("events", change.events, checkEvent) ??
    checkOnce(
      "events",
      change.events.flatMap(({ key }) => key ?? []),
    ) ??
    firstOf("timers", change.timers, checkTimer) ??
    checkOnce(
      "timers",
      change.timers.map(({ id }) => id),
    ) ??
    firstOf("told", change.told, checkTold) ??
    checkOnce(
      "told",
      change.told.map(({ id }) => id),
    ) ??
    firstOf("effects", change.effects, checkEffect)
  );
}

function checkEvent(path: string, event: NonNullable<Change["events"]>[number]): Problem {
  return (
    checkObject(path, event) ??
    checkOneOf(`${path}.kind`, event.kind, EVENT_KINDS) ??
    checkText(`${path}.name`, event.name) ??
    optional(checkKey)(`${path}.key`, event.key) ??
    checkPayload(`${path}.payload`, event.payload) ??
    optional(checkText)(`${path}.by`, event.by)
  );
}

function checkTimer(path: string, timer: Change["timers"][number]): Problem {
  return (
    checkObject(path, timer) ??
    checkUuid(`${path}.id`, timer.id) ??
    checkInteger(`${path}.generation`, timer.generation, 0, LARGEST_SEQ) ??
    checkOneOf(`${path}.kind`, timer.kind, TIMER_KINDS) ??
    checkText(`${path}.name`, timer.name) ??
    checkPayload(`${path}.payload`, timer.payload) ??
    checkDelay(`${path}.delayMs`, timer.delayMs)
  );
}

export function checkTold(path: string, told: NewTold): Problem {
  return (
    checkObject(path, told) ??
    checkUuid(`${path}.id`, told.id) ??
    checkInteger(`${path}.generation`, told.generation, 0, LARGEST_SEQ) ??
    checkUuid(`${path}.instanceKey`, told.instanceKey) ??
    checkGroup(`${path}.group`, told.group) ??
    checkText(`${path}.name`, told.name) ??
    checkPayload(`${path}.payload`, told.payload) ??
    checkDelay(`${path}.delayMs`, told.delayMs)
  );
}

function checkEffect(path: string, run: Change["effects"][number]): Problem {
  const problem = checkRun(path, run);
  if (problem) return problem;
  if (run.key || (run.limits?.length ?? 0) > 0) return new InvalidInput(path, "an effect has no key and no limits");
  return null;
}

function checkFired(path: string, timer: { readonly id: string; readonly generation: number }): Problem {
  return (
    checkObject(path, timer) ??
    checkUuid(`${path}.id`, timer.id) ??
    checkInteger(`${path}.generation`, timer.generation, 0, LARGEST_SEQ)
  );
}

/** What is cancelled and set in one statement would depend on chance. */
function checkApart({ timers, told, cancelled }: Append): Problem {
  const set = new Set([...timers, ...told].map(({ id }) => id));
  return cancelled.some((id) => set.has(id)) ? new InvalidInput("cancelled", "names a timer that is set here") : null;
}

function checkOnce(path: string, names: readonly string[]): Problem {
  return new Set(names).size === names.length ? null : new InvalidInput(path, "has one twice");
}

function firstOf<T>(path: string, items: readonly T[], check: (path: string, item: T) => Problem): Problem {
  if (!Array.isArray(items)) return new InvalidInput(path, "must be a list");
  for (const [i, item] of items.entries()) {
    const problem = check(`${path}[${i}]`, item);
    if (problem) return problem;
  }
  return null;
}
