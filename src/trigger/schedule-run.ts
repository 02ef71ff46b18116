// The run of a window: its input, and the key that makes it start once.

import { payloadHash } from "../kernel/codec/canonical.js";
import { type Per, programScope } from "../kernel/per.js";
import type { NewKey, RunGroup } from "../kernel/run/new-run.js";
import type { Tick } from "./trigger.js";

export function tickOf(type: "cron" | "every", window: number, now: number): Tick<"cron" | "every"> {
  return { type, window: isoOf(window), at: isoOf(now) };
}

/**
 * The second line of defence: a window has one run, even if a schedule is declared again or its row is reset by hand.
 */
export function windowKey({ stack, program }: RunGroup, scheduleKey: string, per: Per, window: number): NewKey {
  const key = `schedule:${scheduleKey}:${isoOf(window)}`;
  return {
    scope: programScope(program, per, stack),
    key,
    payloadHash: payloadHash(window),
    lifetime: "archived",
    onMismatch: "skip",
  };
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
