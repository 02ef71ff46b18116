// Checks declarations of subscriptions and debounced events before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import * as names from "../../../kernel/name.js";
import type { Declaration, EventRuns, EventToStart, NewDebounced, Subscription } from "../../contract/event/events.js";
import { checkLifetime, checkRun } from "../run/run.js";
import * as v from "../value.js";

const checkSubscription = v.shape<Subscription>("subscription", {
  id: v.named(names.keyScope),
  scope: v.named(names.keyScope),
  stack: v.optional(v.named(names.stackName)),
  event: v.named(names.eventName),
  program: v.named(names.programName),
  queue: v.named(names.queueName),
  version: v.optional(v.named(names.versionName)),
  where: v.listOf("filters", () => null),
  debounceMs: v.optional(v.checkDelay),
  lifetime: checkLifetime,
  crashLimit: v.integer(1),
  breaker: v.optional(
    v.shape<NonNullable<Subscription["breaker"]>>("breaker", { threshold: v.integer(1), halfOpenMs: v.checkDelay }),
  ),
});

export function checkDeclaration(declaration: Declaration): v.Problem {
  const seen = new Set<string>();
  const checkOne = (path: string, one: unknown): v.Problem => {
    const problem = checkSubscription(path, one);
    if (problem) return problem;
    const { env, id } = one as Subscription;
    if (env !== declaration.env) return new InvalidInput(`${path}.env`, "must be the declaration's own");
    return v.checkOnce(`${path}.id`, id, seen, "in this declaration");
  };
  const check = v.shape<Declaration>("declaration", {
    incarnation: v.checkUuid,
    env: v.named(names.envName),
    subscriptions: v.listOf("subscriptions", checkOne),
    leaving: v.optional(v.checkBoolean),
  });
  return check("", declaration);
}

export const checkEvent = v.whole(
  v.shape<EventToStart>("event", {
    id: v.checkUuid,
    env: v.named(names.envName),
    stack: v.optional(v.named(names.stackName)),
    event: v.named(names.eventName),
    plain: v.checkText,
    key: v.named(names.dedupeKey),
    payloadHash: v.named(names.dedupeKey),
    input: v.checkPayload,
  }),
);

/** A subject is part of a primary key: an index entry has room for 2,704 bytes. */
export const LONGEST_SUBJECT = 512;

const checkGathered = v.shape<NewDebounced>("event", {
  run: checkRun,
  ticket: v.shape<NewDebounced["ticket"]>("ticket", {
    subscription: v.named(names.keyScope),
    subject: checkSubject,
    windowMs: v.checkDelay,
  }),
});
export const checkDebounced = v.whole(checkGathered);

export const checkEventRuns = v.whole(
  v.shape<EventRuns>("event", {
    runs: v.listOf("runs", (path, run) => checkRun(path, run, (run as { key?: unknown } | null)?.key)),
    debounced: v.listOf("debounced events", checkGathered),
  }),
);

function checkSubject(path: string, subject: unknown): v.Problem {
  const problem = v.checkText(path, subject);
  return problem ?? v.checkInteger(`the length of ${path}`, (subject as string).length, 1, LONGEST_SUBJECT);
}
