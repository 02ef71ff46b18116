// Checks the arguments of circuit breaker operations.

import { envName, programName } from "../../../kernel/name.js";
import type { BreakerQuestion, ProbeRequest } from "../../contract/limit/breakers.js";
import { checkDelay, checkInteger, checkName, checkObject, checkText, checkUuid, type Problem } from "../value.js";

export function checkBreaker(question: BreakerQuestion): Problem {
  return (
    checkObject("question", question) ??
    checkName(envName, "env", question.env) ??
    checkName(programName, "program", question.program) ??
    checkInteger("threshold", question.threshold, 1) ??
    checkDelay("halfOpenMs", question.halfOpenMs)
  );
}

export function checkProbe(request: ProbeRequest): Problem {
  return (
    checkObject("request", request) ??
    checkName(envName, "env", request.env) ??
    checkName(programName, "program", request.program) ??
    checkText("opening", request.opening) ??
    checkInteger("probe", request.probe, 1) ??
    checkUuid("runId", request.runId)
  );
}
