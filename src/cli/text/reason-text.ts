// Formats why something failed, died or was cancelled, from its journal entry: one line, or everything.

import type { Payload } from "../../kernel/codec/payload.js";
import { crashMessage } from "../../kernel/run/suspicion.js";
import { decode, payloadLine, wholePayload } from "./payload-text.js";

/** Kinds of journal entries whose payload holds the reason. */
const REASONS = new Set([
  "failed",
  "dead",
  "quarantined",
  "misfit",
  "cancelled",
  "skipped",
  "retry",
  "step.tried",
  "step.failed",
]);

export function isReason(kind: string): boolean {
  return REASONS.has(kind);
}

export function reasonLine(payload: Payload | null): string {
  if (payload === null) return "";
  const stored = fieldsOf(payload);
  if (stored === null) return payloadLine(payload);
  const { name, message, code, crashes, by, reason } = stored;
  if (typeof message === "string") {
    const head = [name, code].find((text) => typeof text === "string" && text !== "Error");
    return head === undefined ? message : `${head}: ${message}`;
  }
  if (code === "CRASH_LIMIT") return `crash limit reached: ${crashes} in a row`;
  if (typeof by === "string") return `by ${by}${typeof reason === "string" ? `: ${reason}` : ""}`;
  return payloadLine(payload);
}

/** An error with its stack and causes; anything else as its value. */
export function wholeReason(payload: Payload, width: number): string[] {
  const stored = fieldsOf(payload);
  if (stored?.["code"] === "CRASH_LIMIT") return ["code: CRASH_LIMIT", crashMessage(stored, "run")];
  return typeof stored?.["message"] === "string" && typeof stored["name"] === "string"
    ? errorLines(stored)
    : wholePayload(payload, width);
}

type Fields = Readonly<Record<string, unknown>>;

function errorLines({ name, message, code, stack, cause, details }: Fields): string[] {
  const lines = String(stack ?? `${name}: ${message}`).split("\n");
  if (code !== undefined) lines.push(`code: ${code}`);
  if (details !== undefined) lines.push(`details: ${JSON.stringify(details)}`);
  if (!isFields(cause)) return lines;
  const [first = "", ...rest] = errorLines(cause);
  return [...lines, `caused by ${first}`, ...rest];
}

function fieldsOf(payload: Payload): Fields | null {
  const decoded = decode(payload);
  return "value" in decoded && isFields(decoded.value) ? decoded.value : null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
