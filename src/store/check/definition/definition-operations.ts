// The operations on definitions as values. A body is a JSON object of bounded size.

import { InvalidInput, LimitExceeded } from "../../../kernel/error.js";
import { envName, nodeName, programName } from "../../../kernel/name.js";
import {
  DEFINITION_KINDS,
  type DefinitionName,
  type DefinitionStore,
  type NewDefinition,
} from "../../contract/definition/definitions.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { among, checkText, integer, listOf, named, optional, type Problem, shape, whole } from "../value.js";

const LONGEST_BODY = 256 * 1024;

const NAME = { env: named(envName), kind: among(DEFINITION_KINDS), name: named(programName) };
const checkName = whole(shape<DefinitionName>("definition", NAME));
const checkDefinition = whole(
  shape<NewDefinition>("definition", {
    ...NAME,
    by: named(nodeName),
    expectedVersion: optional(integer(0)),
    body: checkBody,
    programs: listOf("names", named(programName)),
  }),
);

export const DEFINITION_OPERATIONS = {
  save: { ...CHANGES, changes: "a definition: a new version", check: checkDefinition },
  enable: {
    ...CHANGES,
    changes: "a definition: enabled or not",
    check: (definition, _enabled, by) => checkName(definition) ?? named(nodeName)("by", by),
  },
  remove: { ...CHANGES, changes: "a definition: removed", check: checkName },
  older: { ...READS, check: (env) => named(envName)("env", env) },
  list: {
    ...READS,
    check: (env, { unlessRevision } = {}) =>
      named(envName)("env", env) ?? optional(checkText)("unlessRevision", unlessRevision),
  },
} satisfies OperationsOf<DefinitionStore>;

function checkBody(path: string, body: unknown): Problem {
  const problem = checkText(path, body);
  if (problem) return problem;
  const { length } = body as string;
  if (length > LONGEST_BODY) return new LimitExceeded(path, "the length of a definition", LONGEST_BODY, length);
  try {
    const read: unknown = JSON.parse(body as string);
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return null;
  } catch {
    // Reported below.
  }
  return new InvalidInput(path, "must be a JSON object");
}
