// The subscriptions of a node's programs: each event trigger as the row that `emit` finds.

import { createHash } from "node:crypto";
import { canonicalText } from "../kernel/codec/canonical.js";
import type { Subscription } from "../store/contract/event/events.js";
import type { ScheduledProgram } from "./scheduler.js";
import type { EventSpec } from "./trigger.js";

type Triggered = Omit<ScheduledProgram, "limits">;

interface Place {
  readonly env: string;
  readonly stack: string | null;
  readonly crashLimit: number;
}

/** A node of a stack also serves events emitted in no stack, as it claims runs started in none. */
export function subscriptionsOf(programs: readonly Triggered[], place: Place): Subscription[] {
  const stacks = place.stack === null ? [null] : [place.stack, null];
  const found = programs.flatMap((program) =>
    program.triggers
      .filter((trigger): trigger is EventSpec => trigger.kind === "event")
      .flatMap((trigger) => stacks.map((stack) => subscriptionOf(program, trigger, { ...place, stack }))),
  );
  // The same trigger written twice counts once.
  return [...new Map(found.map((one) => [one.id, one])).values()];
}

function subscriptionOf(program: Triggered, trigger: EventSpec, { env, stack, crashLimit }: Place): Subscription {
  const { name, queue, version, breaker } = program;
  const { event, where, subject, debounceMs, lifetime, per } = trigger;
  const id = idOf(name, [name, stack, event, where]);
  return {
    id,
    scope: per === "stack" ? id : idOf(name, [name, event, where]),
    env,
    stack,
    event,
    program: name,
    queue,
    version,
    where,
    subject: debounceMs === null ? null : subject,
    debounceMs,
    lifetime,
    crashLimit,
    breaker: breaker && { threshold: breaker.threshold, halfOpenMs: breaker.halfOpenMs },
  };
}

/**
 * Identifies a subscription across versions of the code: the program and the events that start it. A changed debounce,
 * queue, version or `per` updates the subscription; a changed filter creates another.
 */
function idOf(program: string, parts: readonly unknown[]): string {
  return `${program} on ${createHash("sha256").update(canonicalText(parts)).digest("hex").slice(0, 16)}`;
}
