// Checks declarations of programs before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import { RECOVERIES } from "../../../kernel/run/recovery.js";
import { checkGroup } from "../run/run.js";
import { checkObject, checkOneOf, checkUuid, optional, type Problem } from "../value.js";

export function checkDeclared(incarnation: unknown, programs: unknown): Problem {
  const problem = checkUuid("incarnation", incarnation);
  if (problem) return problem;
  if (!Array.isArray(programs)) return new InvalidInput("programs", "must be a list of programs");
  const found = programs.map((program, i) => checkProgram(`programs[${i}]`, program));
  return found.find((one) => one !== null) ?? null;
}

function checkProgram(path: string, program: unknown): Problem {
  const problem = checkObject(path, program);
  if (problem) return problem;
  const { group, limits, recovery } = program as Record<string, unknown>;
  return (
    checkGroup(`${path}.group`, group) ??
    (Array.isArray(limits) ? null : new InvalidInput(`${path}.limits`, "must be a list of limits")) ??
    optional((at, value) => checkOneOf(at, value, RECOVERIES))(`${path}.recovery`, recovery)
  );
}
