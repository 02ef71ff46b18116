// Checks declarations of subscriptions and debounced events before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import {
  dedupeKey,
  envName,
  eventName,
  keyScope,
  programName,
  queueName,
  stackName,
  versionName,
} from "../../../kernel/name.js";
import type { EventRuns, NewDebounced, Subscription } from "../../contract/event/events.js";
import { checkLifetime, checkRun } from "../run/run.js";
import {
  checkDelay,
  checkInteger,
  checkName,
  checkObject,
  checkPayload,
  checkText,
  checkUuid,
  firstProblem,
  optional,
  type Problem,
} from "../value.js";

export function checkDeclaration(declaration: unknown): Problem {
  const problem = checkObject("declaration", declaration);
  if (problem) return problem;
  const { incarnation, env, subscriptions } = declaration as Record<string, unknown>;
  const bad = checkUuid("incarnation", incarnation) ?? checkName(envName, "env", env);
  if (bad) return bad;
  if (!Array.isArray(subscriptions)) return new InvalidInput("subscriptions", "must be a list of subscriptions");
  const seen = new Set<string>();
  for (const [i, one] of subscriptions.entries()) {
    const wrong = checkSubscription(`subscriptions[${i}]`, one, env as string);
    if (wrong) return wrong;
    if (seen.has(one.id)) return new InvalidInput(`subscriptions[${i}].id`, "is listed twice in this declaration");
    seen.add(one.id);
  }
  return null;
}

function checkSubscription(path: string, subscription: unknown, env: string): Problem {
  const problem = checkObject(path, subscription);
  if (problem) return problem;
  const one = subscription as Subscription;
  if (one.env !== env) return new InvalidInput(`${path}.env`, "must be the declaration's own");
  return (
    checkName(keyScope, `${path}.id`, one.id) ??
    checkName(keyScope, `${path}.scope`, one.scope) ??
    optional((at, value) => checkName(stackName, at, value))(`${path}.stack`, one.stack) ??
    checkName(eventName, `${path}.event`, one.event) ??
    checkName(programName, `${path}.program`, one.program) ??
    checkName(queueName, `${path}.queue`, one.queue) ??
    optional((at, value) => checkName(versionName, at, value))(`${path}.version`, one.version) ??
    (Array.isArray(one.where) ? null : new InvalidInput(`${path}.where`, "must be a list of filters")) ??
    optional(checkDelay)(`${path}.debounceMs`, one.debounceMs) ??
    checkLifetime(`${path}.lifetime`, one.lifetime) ??
    checkInteger(`${path}.crashLimit`, one.crashLimit, 1) ??
    optional(checkBreakerRule)(`${path}.breaker`, one.breaker)
  );
}

function checkBreakerRule(path: string, rule: unknown): Problem {
  const problem = checkObject(path, rule);
  if (problem) return problem;
  const { threshold, halfOpenMs } = rule as Record<string, unknown>;
  return checkInteger(`${path}.threshold`, threshold, 1) ?? checkDelay(`${path}.halfOpenMs`, halfOpenMs);
}

export function checkEvent(event: unknown): Problem {
  const problem = checkObject("event", event);
  if (problem) return problem;
  const { id, env, stack, event: name, plain, key, payloadHash, input } = event as Record<string, unknown>;
  return (
    checkUuid("id", id) ??
    checkName(envName, "env", env) ??
    optional((at, value) => checkName(stackName, at, value))("stack", stack) ??
    checkName(eventName, "event", name) ??
    checkText("plain", plain) ??
    checkName(dedupeKey, "key", key) ??
    checkName(dedupeKey, "payloadHash", payloadHash) ??
    checkPayload("input", input)
  );
}

/** A subject is part of a primary key: an index entry has room for 2,704 bytes. */
export const LONGEST_SUBJECT = 512;

export function checkDebounced(event: NewDebounced): Problem {
  const problem = checkObject("event", event) ?? checkObject("ticket", event.ticket);
  if (problem) return problem;
  const { subscription, subject, windowMs } = event.ticket;
  return (
    checkRun("run", event.run) ??
    checkName(keyScope, "ticket.subscription", subscription) ??
    checkText("ticket.subject", subject) ??
    checkInteger("the length of ticket.subject", subject.length, 1, LONGEST_SUBJECT) ??
    checkDelay("ticket.windowMs", windowMs)
  );
}

export function checkEventRuns(event: EventRuns): Problem {
  const problem = checkObject("event", event);
  if (problem) return problem;
  const { runs, debounced } = event;
  if (!Array.isArray(runs)) return new InvalidInput("runs", "must be a list of runs");
  if (!Array.isArray(debounced)) return new InvalidInput("debounced", "must be a list of debounced events");
  return (
    firstProblem(runs, (run, i) => checkRun(`runs[${i}]`, run, run?.key)) ?? firstProblem(debounced, checkDebounced)
  );
}
