// Checks the options of a retry before the store is called.

import { InvalidInput } from "../../../kernel/error.js";
import { nodeName } from "../../../kernel/name.js";
import type { RetryCall } from "../../contract/run/retry.js";
import { checkName, checkObject, checkPayload, checkUuid, optional, type Problem } from "../value.js";

export function checkRetry(runIds: unknown, options: unknown): Problem {
  if (!Array.isArray(runIds)) return new InvalidInput("runIds", "must be a list of run ids");
  const problem = checkObject("options", options);
  if (problem) return problem;
  const { by, callId, fromStart, note } = options as RetryCall;
  if (typeof fromStart !== "boolean") return new InvalidInput("fromStart", "must be true or false");
  if (fromStart && note !== undefined) return new InvalidInput("note", "is for a run that continues where it was");
  return checkName(nodeName, "by", by) ?? checkUuid("callId", callId) ?? optional(checkPayload)("note", note);
}
