// Checks whether a definition can be stored: its name, and a body that is a JSON object of bounded size.

import { InvalidInput, LimitExceeded } from "../../../kernel/error.js";
import { envName, nodeName, programName } from "../../../kernel/name.js";
import { DEFINITION_KINDS } from "../../contract/definition/definitions.js";
import { checkInteger, checkName, checkObject, checkOneOf, checkText, optional, type Problem } from "../value.js";

const LONGEST_BODY = 256 * 1024;

export function checkDefinitionName(definition: unknown): Problem {
  const problem = checkObject("definition", definition);
  if (problem) return problem;
  const { env, kind, name } = definition as Record<string, unknown>;
  return (
    checkName(envName, "env", env) ?? checkOneOf("kind", kind, DEFINITION_KINDS) ?? checkName(programName, "name", name)
  );
}

export function checkDefinition(definition: unknown): Problem {
  const problem = checkDefinitionName(definition);
  if (problem) return problem;
  const { body, by, expectedVersion, programs } = definition as Record<string, unknown>;
  const version = (path: string, value: unknown) => checkInteger(path, value, 0);
  return (
    checkName(nodeName, "by", by) ??
    optional(version)("expectedVersion", expectedVersion) ??
    checkText("body", body) ??
    checkBody(body as string) ??
    checkPrograms(programs)
  );
}

function checkPrograms(programs: unknown): Problem {
  if (!Array.isArray(programs)) return new InvalidInput("programs", "must be a list of names");
  for (const [i, program] of programs.entries()) {
    const problem = checkName(programName, `programs[${i}]`, program);
    if (problem) return problem;
  }
  return null;
}

function checkBody(body: string): Problem {
  if (body.length > LONGEST_BODY)
    return new LimitExceeded("body", "the length of a definition", LONGEST_BODY, body.length);
  try {
    const read: unknown = JSON.parse(body);
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return null;
  } catch {
    // Told below.
  }
  return new InvalidInput("body", "must be a JSON object");
}
