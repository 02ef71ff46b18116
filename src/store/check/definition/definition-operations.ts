// The operations on definitions as values.

import { envName, nodeName } from "../../../kernel/name.js";
import type { DefinitionStore } from "../../contract/definition/definitions.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkName, checkText, optional } from "../value.js";
import { checkDefinition, checkDefinitionName } from "./definition.js";

export const DEFINITION_OPERATIONS = {
  save: { ...CHANGES, changes: "a definition: a new version", check: checkDefinition },
  enable: {
    ...CHANGES,
    changes: "a definition: enabled or not",
    check: (definition, _enabled, by) => checkDefinitionName(definition) ?? checkName(nodeName, "by", by),
  },
  remove: { ...CHANGES, changes: "a definition: removed", check: checkDefinitionName },
  older: { ...READS, check: (env) => checkName(envName, "env", env) },
  list: {
    ...READS,
    check: (env, { unlessRevision } = {}) =>
      checkName(envName, "env", env) ?? optional(checkText)("unlessRevision", unlessRevision),
  },
} satisfies OperationsOf<DefinitionStore>;
