// The run that an event starts for one of its subscriptions: identical however often, and by whichever process, it is
// computed.

import { hash } from "node:crypto";
import type { Payload } from "../codec/payload.js";
import type { KeyLifetime, NewKey, NewRun } from "./new-run.js";

/** An event as it is accepted. */
export interface AcceptedEvent {
  /** A time-ordered UUID, drawn for this one call of `emit`; the run ids are derived from it. */
  readonly id: string;
  readonly env: string;
  readonly stack: string | null;
  /** Identifies the event: two events with the same key are the same. */
  readonly key: string;
  readonly payloadHash: string;
  readonly input: Payload;
}

/** What a subscription says about its runs. */
export interface RunsOfSubscription {
  readonly id: string;
  readonly scope: string;
  readonly queue: string;
  readonly program: string;
  readonly version: string | null;
  readonly crashLimit: number;
  readonly lifetime: KeyLifetime;
}

export type EventRun = NewRun & { readonly key: NewKey };

/**
 * Half of the id is the event's: time, counter and random bits. The rest is derived, the same way as in the statement
 * that inserts the runs: a call repeated after a lost answer computes the same ids and finds its own runs.
 */
export function eventRunId(eventId: string, subscription: string): string {
  return `${eventId.slice(0, 24)}${hash("sha256", `${eventId}${subscription}`, "hex").slice(0, 12)}`;
}

/** A repeated event is skipped silently, whatever its payload: its key says that it is the same. */
export function eventRun({ id, env, stack, key, payloadHash, input }: AcceptedEvent, of: RunsOfSubscription): EventRun {
  const { queue, program, version, crashLimit, lifetime } = of;
  return {
    id: eventRunId(id, of.id),
    group: { env, stack, queue, program, version },
    priority: 0,
    delayMs: 0,
    crashLimit,
    input,
    key: { scope: of.scope, key, payloadHash, lifetime, onMismatch: "skip" },
  };
}
