// Checks the arguments of a clean-up round.

import { CLEAN_PARTS, type CleanRound } from "../contract/cleanup.js";
import { checkDelay, checkLimit, checkOneOf, checkText, type Problem } from "./value.js";

export function checkClean({ part, env, everyMs, keepMs, limit }: CleanRound): Problem {
  return (
    checkOneOf("part", part, CLEAN_PARTS) ??
    checkText("env", env) ??
    checkDelay("everyMs", everyMs) ??
    checkDelay("keepMs", keepMs) ??
    checkLimit("limit", limit)
  );
}
