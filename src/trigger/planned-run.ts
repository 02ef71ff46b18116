// The runs that one event is to start when more than a row is needed: with limits, a debounce window, or a circuit
// breaker.

import type { BreakerRule } from "../kernel/breaker-rule.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { readKey } from "../kernel/input-path.js";
import { newLimits } from "../kernel/limit-rule.js";
import type { DebounceTicket } from "../kernel/run/debounce-ticket.js";
import { eventRun } from "../kernel/run/event-run.js";
import type { NewDeferral, NewRun } from "../kernel/run/new-run.js";
import { LONGEST_SUBJECT } from "../store/check/event/subscription.js";
import { isPerStack, type Matched } from "../store/contract/event/events.js";
import type { Occurrence } from "./occurrence.js";

/** A run that one occurrence is to start. */
export interface PlannedRun {
  readonly run: NewRun;
  /** Set when the run gathers events. */
  readonly ticket: DebounceTicket | null;
  readonly breaker: BreakerRule | null;
}

export type Judged = PlannedRun & { readonly passes: boolean };

/**
 * If the payload lacks the key of a limit or a subject, nothing of this event is stored. `stamp`: the mark of a run of
 * this program.
 */
export function plannedRunsOf(
  occurrence: Occurrence,
  matched: readonly Matched[],
  stamp: (program: string) => { readonly deferred?: NewDeferral },
): readonly PlannedRun[] | HoldfastError {
  try {
    return matched.map((one) => plannedRun(occurrence, one, stamp(one.program)));
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

function plannedRun(occurrence: Occurrence, one: Matched, stamped: { readonly deferred?: NewDeferral }): PlannedRun {
  const { limits, queue, breaker, debounceMs } = one;
  const limited = limits.length > 0 && { limits: newLimits(limits, queue, occurrence.value) };
  const { key, ...run } = { ...eventRun(occurrence, one), ...stamped, ...limited };
  if (debounceMs === null) return { run: { ...run, key }, ticket: null, breaker };
  // A run that gathers events of all stacks belongs to none: in the stack of its first event, it could wait for nodes
  // that never come.
  const group = isPerStack(one) ? run.group : { ...run.group, stack: null };
  return { run: { ...run, group }, ticket: ticketOf(occurrence, one, debounceMs), breaker };
}

/** Rejected here when it is too long for the store: nothing of the event may be stored then. */
function ticketOf({ value }: Occurrence, { scope, subject: path }: Matched, windowMs: number): DebounceTicket {
  const subject = readKey(value, path ?? [], "payload", "a trigger is debounced by it");
  if (subject.length > LONGEST_SUBJECT) {
    throw new InvalidInput(
      `payload.${(path ?? []).join(".")}`,
      `is longer than ${LONGEST_SUBJECT} characters; a trigger is debounced by it`,
    );
  }
  return { subscription: scope, subject, windowMs };
}
