// The operations on definitions as values. A body is a JSON object of bounded size.

import { envName, nodeName, programName } from "../../../kernel/name.js";
import {
  DEFINITION_KINDS,
  type DefinitionName,
  type DefinitionStore,
  type NewDefinition,
} from "../../contract/definition/definitions.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { among, checkText, integer, jsonObject, listOf, named, optional, shape, whole } from "../value.js";

const LONGEST_BODY = 256 * 1024;

const NAME = { env: named(envName), kind: among(DEFINITION_KINDS), name: named(programName) };
const checkName = whole(shape<DefinitionName>("definition", NAME));
const checkDefinition = whole(
  shape<NewDefinition>("definition", {
    ...NAME,
    by: named(nodeName),
    expectedVersion: optional(integer(0)),
    body: jsonObject("a definition", LONGEST_BODY),
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
