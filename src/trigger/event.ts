// Events as values: `event<Payload>()("resource.updated")`, and triggers on them: `on(updated, { where })`.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { parsePath, type ScalarPath } from "../kernel/input-path.js";
import { eventName } from "../kernel/name.js";
import { type Per, perOf } from "../kernel/per.js";
import type { KeyLifetime } from "../kernel/run/new-run.js";
import { filtersOf, type Where } from "./filter.js";
import type { Trigger } from "./trigger.js";

/** A type of event, as `event()` makes it. */
export interface EventType<Name extends string, Payload> {
  /** Distinguishes it from other values. */
  readonly kind: "event type";
  /** The name under which it is emitted. */
  readonly name: Name;
  /** Carries the type only. */
  readonly "~payload"?: (payload: Payload) => Payload;
}

/**
 * Declares a type of event: `event<Payload>()("name")`. The payload's type is given, the name's inferred.
 *
 * @example
 * ```ts
 * const updated = event<{ kind: "disk" | "cpu"; resource: string; used: number }>()("resource.updated");
 * ```
 */
export function event<Payload extends object>(): <const Name extends string>(name: Name) => EventType<Name, Payload> {
  return (name) => {
    eventName(name, "event name");
    return { kind: "event type", name };
  };
}

/** Options of `on`. */
export interface OnOptions<Payload> {
  /** Only events whose payload has these values: `{ kind: "disk" }`, `{ kind: { in: ["disk", "cpu"] } }`, nested. */
  readonly where?: Where<Payload>;
  /** A path into the payload: events with the same value there belong together. Required by `debounce`. */
  readonly subject?: ScalarPath<Payload>;
  /** Waits until the subject has had no event for this long, then runs once with the last one. */
  readonly debounce?: Duration;
  /** How long a repeated event (by its id, or else its payload) starts nothing. @default until its run is archived */
  readonly once?: "while live" | "until archived" | Duration;
  /** One run per event in the env, whichever stack emits it first, or one in each stack that emits it. @default env */
  readonly per?: Per;
}

/**
 * A trigger: each such event starts a run. Its input is the payload, with the event's name as its `type`.
 *
 * @example
 * ```ts
 * const index = workflow(
 *   "index",
 *   { on: [on(updated, { subject: "resource", debounce: "1s" })] },
 *   async (_ctx, input) => `indexed at ${input.used} %`,
 * );
 * ```
 */
export function on<const Name extends string, Payload extends object>(
  type: EventType<Name, Payload>,
  options: OnOptions<Payload> = {},
): Trigger<{ readonly type: Name } & Payload> {
  const { where, subject, debounce, once = "until archived", per } = options;
  const debounceMs = debounce === undefined ? null : toMs(debounce, "debounce");
  if (debounceMs !== null && subject === undefined) {
    throw new InvalidInput(
      "debounce",
      "needs a subject: a path into the payload that identifies the events that belong together",
    );
  }
  return {
    spec: {
      kind: "event",
      event: type.name,
      where: filtersOf(where),
      subject: subject === undefined ? null : parsePath(subject, "subject"),
      debounceMs,
      lifetime: lifetimeOf(once),
      per: perOf(per),
    },
  };
}

/** `once` in its stored form. */
export function lifetimeOf(once: OnOptions<object>["once"] = "until archived"): KeyLifetime {
  if (once === "while live") return "live";
  if (once === "until archived") return "archived";
  return { forMs: toMs(once, "once") };
}
