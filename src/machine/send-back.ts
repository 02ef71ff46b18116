// Sends the answer of an effect or an actor back to its instance: once, and only to the entry of the state that asked.

import { encodeError } from "../kernel/codec/stored-error.js";
import type { AnyMachine } from "./definition.js";
import type { Instances } from "./instances.js";
import type { MachineEvent } from "./logic.js";
import type { Answers } from "./steps.js";

export interface SendBack {
  readonly id: string;
  /** Accepted once. */
  readonly key: string;
  readonly event: MachineEvent & Readonly<Record<string, unknown>>;
  readonly by: string;
  readonly answers: Answers | undefined;
}

/** An instance that has ended, or that no longer waits for the answer, ignores it. Returns the outcome. */
export async function sendBack(machine: AnyMachine, instances: Instances, back: SendBack): Promise<string> {
  const { id, key, event, by, answers } = back;
  const delivered = await instances.deliver(machine, id, { kind: "event", event, key, by, answers, timer: null });
  if (delivered.outcome === "stale") instances.reportStale(machine, id, by);
  if (delivered.outcome !== "failed") return delivered.outcome;
  if (delivered.error.code === "INSTANCE_ENDED") return "ended";
  throw delivered.error;
}

export function isEvent(answer: unknown): answer is SendBack["event"] {
  return typeof answer === "object" && answer !== null && typeof (answer as { type?: unknown }).type === "string";
}

/** As plain data, because a machine may keep it in its context. */
export function failureOf(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message, code } = encodeError(error);
  return { name, message, ...(code !== undefined && { code }) };
}
