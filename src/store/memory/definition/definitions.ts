// Programs as data: saved over the version that was read, enabled, disabled, listed when something has changed.

import { createHash } from "node:crypto";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { DefinitionName, DefinitionStore } from "../../contract/definition/definitions.js";
import type { Wakes } from "../node/wakes.js";
import { shown } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { DefinitionRow, DefinitionVersionRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";

export function memoryDefinitions(tables: Tables, wakes: Wakes): DefinitionStore {
  const keyOf = ({ env, kind, name }: DefinitionName) => joinKey(env, kind, name);
  const versionsOf = (definition: DefinitionName) =>
    [...tables.definitionVersions.values()].filter((one) => keyOf(one) === keyOf(definition));
  return {
    async save(definition) {
      const { env, kind, name, body, by, expectedVersion, programs } = definition;
      const there = tables.definitions.get(keyOf(definition));
      const version = there?.version ?? 0;
      if (there?.body === body) return { outcome: "saved", version };
      if (expectedVersion !== undefined && expectedVersion !== version) return { outcome: "conflict", version };
      const enabled = there?.enabled ?? true;
      // The version numbers of a removed definition continue.
      const saved = Math.max(0, ...versionsOf(definition).map((one) => one.version));
      const next = (there ? version : saved) + 1;
      const row = { env, kind, name, version: next, enabled, body, by, atUs: tables.nowUs() };
      tables.definitions.set(keyOf(definition), row);
      const key = joinKey(env, kind, name, String(next));
      tables.definitionVersions.set(key, { env, kind, name, version: next, body, programs: [...programs] });
      wakes.news();
      return { outcome: "saved", version: row.version };
    },
    async enable(definition, enabled, by) {
      const row = tables.definitions.get(keyOf(definition));
      if (row && row.enabled !== (enabled === true)) {
        tables.definitions.set(keyOf(definition), { ...row, enabled: enabled === true, by, atUs: tables.nowUs() });
        wakes.news();
      }
      return row !== undefined;
    },
    async remove(definition) {
      if (tables.definitions.delete(keyOf(definition))) wakes.news();
    },
    async older(env) {
      const waitedFor = groupsWithWork(tables, env);
      const isWanted = (one: DefinitionVersionRow) => {
        const current = tables.definitions.get(keyOf(one));
        if (current?.version === one.version) return false;
        const kept = current && versionsOf(one).find(({ version }) => version === current.version)?.programs;
        return waitedFor.some(({ program, version }) => {
          if (!one.programs.includes(program)) return false;
          return version === String(one.version) || (version === null && !kept?.includes(program));
        });
      };
      return [...tables.definitionVersions.values()]
        .filter((one) => one.env === env && isWanted(one))
        .sort((a, b) => byName(a, b) || a.version - b.version)
        .map(({ programs: _, ...one }) => one);
    },
    async list(env, { unlessRevision } = {}) {
      const rows = [...tables.definitions.values()].filter((row) => row.env === env).sort(byName);
      const revision = revisionOf(rows);
      if (revision === unlessRevision) return { revision, definitions: null };
      return { revision, definitions: rows.map(shown) };
    },
  };
}

function groupsWithWork(tables: Tables, env: string): readonly RunGroup[] {
  const groups = new Map(runsInState(tables, "waiting").map(({ groupId, group }) => [groupId, group]));
  return [...groups.values()].filter((group) => group.env === env);
}

function byName(a: DefinitionName, b: DefinitionName): number {
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
