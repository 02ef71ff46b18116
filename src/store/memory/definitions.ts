// Programs as data: saved over the version that was read, switched on and off, listed when something has changed.

import { createHash } from "node:crypto";
import { envName, nodeName } from "../../kernel/name.js";
import { checkDefinition, checkDefinitionName } from "../check/definition.js";
import { checkName, checkText, optional, refuse } from "../check/value.js";
import type { DefinitionName, DefinitionStore } from "../contract/definitions.js";
import { compareText } from "./compare-text.js";
import { joinKey } from "./join-key.js";
import { toMs } from "./micros.js";
import type { DefinitionRow } from "./rows.js";
import type { Tables } from "./tables.js";

export function memoryDefinitions(tables: Tables, onChange: () => void): DefinitionStore {
  const keyOf = ({ env, kind, name }: DefinitionName) => joinKey(env, kind, name);
  return {
    async save(definition) {
      refuse(checkDefinition(definition));
      const { env, kind, name, body, by, expectedVersion } = definition;
      const there = tables.definitions.get(keyOf(definition));
      const version = there?.version ?? 0;
      if (there?.body === body) return { outcome: "saved", version };
      if (expectedVersion !== undefined && expectedVersion !== version) return { outcome: "conflict", version };
      const enabled = there?.enabled ?? true;
      const row = { env, kind, name, version: version + 1, enabled, body, by, atUs: tables.nowUs() };
      tables.definitions.set(keyOf(definition), row);
      onChange();
      return { outcome: "saved", version: row.version };
    },
    async enable(definition, enabled, by) {
      refuse(checkDefinitionName(definition) ?? checkName(nodeName, "by", by));
      const row = tables.definitions.get(keyOf(definition));
      if (row && row.enabled !== (enabled === true)) {
        tables.definitions.set(keyOf(definition), { ...row, enabled: enabled === true, by, atUs: tables.nowUs() });
        onChange();
      }
      return row !== undefined;
    },
    async remove(definition) {
      refuse(checkDefinitionName(definition));
      if (tables.definitions.delete(keyOf(definition))) onChange();
    },
    async list(env, { unlessRevision } = {}) {
      refuse(checkName(envName, "env", env) ?? optional(checkText)("unlessRevision", unlessRevision));
      const rows = [...tables.definitions.values()].filter((row) => row.env === env).sort(byName);
      const revision = revisionOf(rows);
      if (revision === unlessRevision) return { revision, definitions: null };
      return { revision, definitions: rows.map(({ atUs, ...row }) => ({ ...row, at: toMs(atUs) })) };
    },
  };
}

function byName(a: DefinitionRow, b: DefinitionRow): number {
  return compareText(a.kind, b.kind) || compareText(a.name, b.name);
}

function revisionOf(rows: readonly DefinitionRow[]): string {
  const texts = rows.map(({ kind, name, version, enabled, body }) =>
    [kind, name, version, enabled ? "t" : "f", md5(body)].join(" "),
  );
  return md5(texts.join(","));
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}
