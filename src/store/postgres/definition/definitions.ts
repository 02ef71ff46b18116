// Stores definitions: saved over the version that was read, enabled and disabled, listed when something has changed.

import type {
  DefinitionKind,
  DefinitionName,
  DefinitionRecord,
  DefinitionStore,
  OlderDefinition,
} from "../../contract/definition/definitions.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import type { WakeSender } from "../connection/wake-sender.js";

const NAMED = "env = $1 and kind = $2 and name = $3";

/**
 * The current row decides: of two callers that save over one version, one succeeds. The same body again changes nothing. A
 * removed definition keeps its version count: a run that is pinned to version 1 never gets another version 1.
 */
const saveDefinition = statement(
  "save_definition",
  "Saves a definition over the version that the caller read.",
  ({ schema: s, now }) => `
with saved as (
  insert into ${s}.definitions as d (env, kind, name, version, enabled, body, by, at)
  select $1, $2, $3, 1 + coalesce((select max(version) from ${s}.definition_versions where ${NAMED}), 0), true, $4, $5, ${now}
  where coalesce($6::int, 0) = 0 or exists (select from ${s}.definitions where ${NAMED})
  on conflict (env, kind, name) do update
  set version = d.version + 1, body = excluded.body, by = excluded.by, at = excluded.at
  where d.body <> excluded.body and ($6::int is null or d.version = $6)
  returning d.env, d.kind, d.name, d.version, d.body
)
insert into ${s}.definition_versions (env, kind, name, version, body, programs)
select s.env, s.kind, s.name, s.version, s.body, $7::text[] from saved s
returning version`,
);

/** A statement of its own: the one that saves sees the row as it was before. */
const findDefinition = statement(
  "find_definition",
  "Reads one definition.",
  ({ schema: s }) => `select version, body from ${s}.definitions where ${NAMED}`,
);

const enableDefinition = statement(
  "enable_definition",
  "Enables or disables a definition.",
  ({ schema: s, now }) => `
with changed as (
  update ${s}.definitions set enabled = $4, by = $5, at = ${now} where ${NAMED} and enabled <> $4
)
select version from ${s}.definitions where ${NAMED}`,
);

const removeDefinition = statement(
  "remove_definition",
  "Removes a definition and keeps its version number.",
  ({ schema: s }) => `delete from ${s}.definitions where ${NAMED}`,
);

/** One row at least, with the revision. Bodies are sent only when it is another one. */
const listDefinitions = statement(
  "list_definitions",
  "Lists definitions, with their bodies if the revision has changed.",
  ({ schema: s }) => `
with mine as materialized (
  select * from ${s}.definitions where env = $1
), r as materialized (
  select md5(coalesce(string_agg(concat_ws(' ', kind, name, version, enabled, md5(body)), ','
    order by kind collate "C", name collate "C"), '')) as revision from mine
)
select r.revision, d.env, d.kind, d.name, d.version, d.enabled, d.body, d.by, ${ms("d.at")} as at
from r left join mine d on r.revision is distinct from $2
order by d.kind collate "C", d.name collate "C"`,
);

/** One look at the index of waiting runs for each of their groups. */
const olderDefinitions = statement(
  "older_definitions",
  "Lists older versions of definitions that waiting runs still need.",
  ({ schema: s }) => `
select h.env, h.kind, h.name, h.version, h.body
from ${s}.definition_versions h
left join lateral (
  select d.version, v.programs from ${s}.definitions d
  join ${s}.definition_versions v using (env, kind, name, version)
  where (d.env, d.kind, d.name) = (h.env, h.kind, h.name)
) c on true
where h.env = $1 and h.version is distinct from c.version and exists (
  select from ${s}.claim_groups g
  cross join lateral (select from ${s}.runs r where r.claim_group = g.id and r.state = 'waiting' limit 1) r
  where g.env = h.env and g.program = any(h.programs)
    and (g.version = h.version::text or (g.version = '' and g.program <> all(coalesce(c.programs, '{}'))))
)
order by h.kind collate "C", h.name collate "C", h.version`,
);

interface Row extends Omit<DefinitionRecord, "kind" | "name"> {
  readonly revision: string;
  readonly kind: DefinitionKind | null;
  readonly name: string;
}

export function definitionStore(db: Database, wakes: WakeSender): DefinitionStore {
  const place = ({ env, kind, name }: DefinitionName) => [env, kind, name];
  return {
    async save(definition) {
      const { body, by, programs, expectedVersion = null } = definition;
      const [saved] = await db.run<{ version: number }>(saveDefinition, [
        ...place(definition),
        body,
        by,
        expectedVersion,
        programs,
      ]);
      if (saved) wakes.sendNews();
      if (saved) return { outcome: "saved", version: saved.version };
      const [there] = await db.run<{ version: number; body: string }>(findDefinition, place(definition));
      return { outcome: there?.body === body ? "saved" : "conflict", version: there?.version ?? 0 };
    },
    async enable(definition, enabled, by) {
      const rows = await db.run(enableDefinition, [...place(definition), enabled === true, by]);
      wakes.sendNews();
      return rows.length > 0;
    },
    async remove(definition) {
      await db.run(removeDefinition, place(definition));
      wakes.sendNews();
    },
    async older(env) {
      return db.run<OlderDefinition>(olderDefinitions, [env]);
    },
    async list(env, { unlessRevision } = {}) {
      const rows = await db.run<Row>(listDefinitions, [env, unlessRevision ?? null]);
      const { revision } = rows[0]!;
      if (revision === unlessRevision) return { revision, definitions: null };
      return { revision, definitions: rows.flatMap(({ revision: _, kind, ...row }) => (kind ? { ...row, kind } : [])) };
    },
  };
}
