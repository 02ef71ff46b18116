// The data of a job in its run's input, validated when written and when read.

import { PayloadCorrupt } from "../kernel/codec/codec.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import { toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import type { EnqueueInput, JobFacts } from "./job.js";

export type JobInput = Omit<JobFacts, "id" | "priority" | "attempt">;

const FIELDS = [
  "type",
  "runId",
  "graphId",
  "tenantId",
  "initialState",
  "humanResponse",
  "priority",
  "maxAttempts",
  "visibilityTimeoutMs",
] satisfies (keyof EnqueueInput)[];

const DEFAULT_MAX_ATTEMPTS = 3;

export function jobInput(id: string, input: EnqueueInput, visibilityTimeoutMs: number): JobInput {
  expectFields(input);
  const { type, maxAttempts = DEFAULT_MAX_ATTEMPTS } = input;
  if (type !== "start" && type !== "resume") {
    throw new InvalidInput("type", `must be "start" or "resume"; it is ${JSON.stringify(type)}`);
  }
  if (type === "resume" && input.runId === undefined) {
    throw new InvalidInput("runId", "a resume job must name the run it continues");
  }
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1) {
    throw new InvalidInput("maxAttempts", `must be a whole number from 1; it is ${String(maxAttempts)}`);
  }
  return {
    type,
    runId: text(input.runId, "runId") ?? id,
    graphId: text(input.graphId, "graphId"),
    tenantId: text(input.tenantId, "tenantId"),
    initialState: input.initialState,
    humanResponse: input.humanResponse,
    maxAttempts,
    visibilityTimeoutMs: positiveMs(input.visibilityTimeoutMs ?? visibilityTimeoutMs, "visibilityTimeoutMs"),
  };
}

/** A claim of zero length would be lost before it is answered. */
export function positiveMs(ms: number, path: string): number {
  if (toMs(ms, path) >= 1) return ms;
  throw new InvalidInput(path, "must be 1 ms or more");
}

/** A job written by other code, or by a newer version, is rejected before a worker executes it. */
export function readJobInput(codecs: Codecs, payload: Payload): JobInput {
  const input = codecs.decode(payload) as Partial<JobInput> | null;
  const whole =
    typeof input === "object" &&
    input !== null &&
    (input.type === "start" || input.type === "resume") &&
    typeof input.runId === "string" &&
    [input.maxAttempts, input.visibilityTimeoutMs].every((number) => typeof number === "number");
  if (!whole) throw new PayloadCorrupt("it should be a job of the workflow queue");
  return input as JobInput;
}

/** Snake case is rejected, not ignored: a `max_attempts` without effect would be noticed only in production. */
function expectFields(input: EnqueueInput): void {
  for (const name of Object.keys(input)) {
    if ((FIELDS as string[]).includes(name)) continue;
    const meant = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const hint = (FIELDS as string[]).includes(meant) ? `write ${meant}` : `the fields are ${FIELDS.join(", ")}`;
    throw new InvalidInput(name, `is not a field of a job; ${hint}`);
  }
}

function text(value: string | undefined, path: string): string | null {
  if (value === undefined) return null;
  if (typeof value === "string" && value !== "") return value;
  throw new InvalidInput(path, "must be a non-empty string");
}
