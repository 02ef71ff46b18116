// Registers nodes, stores their heartbeats, and lists them with the runs they hold.

import type { ModeChange, ModeState } from "../../../kernel/node-mode.js";
import type { NodeRecord, NodeRegistration, NodeStore, RegisterAnswer, Rival } from "../../contract/node/nodes.js";
import type { ProgramFacts, ProgramRecord } from "../../contract/node/programs.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import { orphanParts, RECLAIMED } from "../claim/reclaim-expired.js";
import { type ReclaimedRow, settleReclaimed } from "../claim/reclaimed.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { declaredDigest } from "../limit/program-limits.js";
import { groupJson } from "../run/groups.js";
import { isHeard } from "./presence-sql.js";

/** The mode stored for the identity wins over the node's option. In full mode it claims from all its groups; in
 * another mode it declares from which. */
export const registerNode = statement(
  "register_node",
  "Registers a node, or refuses it because another one with its identity lives.",
  ({ schema: s, now }) => `
select outcome, dead, (rival).incarnation, (rival).identity, (rival).name, (rival).alone,
  (mine).mode, (mine).overrides, (mine).drain
from ${s}.register_node(jsonb_populate_record(null::${s}.nodes, $1::jsonb), ${now}, $2::json)`,
);

const claimsFrom = statement(
  "claims_from",
  "Stores from which groups a node claims.",
  ({ schema: s }) => `update ${s}.nodes set claims = $2::int[] where incarnation = $1 and claims <> $2::int[]`,
);

/** One change at a time; the other parameters are null. */
const changeNodeMode = statement(
  "change_mode",
  "Changes the mode of a node.",
  ({ schema: s, now }) => `
with n as (
  update ${s}.nodes
  set mode = coalesce($2::text, mode),
      drain = case when $2::text is not null then null else coalesce($3::text, drain) end,
      overrides = (case when $4::bool then '{}' else overrides end - coalesce($5::text, '')) || coalesce($6::jsonb, '{}')
  where incarnation = $1 and stopped_at is null
  returning env, identity, mode, overrides, drain
), kept as (
  insert into ${s}.kept_modes as k (env, identity, mode, overrides, at, by)
  select env, identity, mode, overrides, ${now}, $8::text from n where $7::bool
  on conflict (env, identity) do update set mode = excluded.mode, overrides = excluded.overrides, at = excluded.at,
    by = excluded.by
)
select mode, overrides, drain from n`,
);

/** Reclaims the runs of dead nodes. The UPDATE checks again that they still hold them. */
export const reclaimClaimsOf = statement(
  "reclaim_claims_of",
  "Reclaims what earlier incarnations of a node held.",
  (d) => `
with t as materialized (select ${d.now} as now
), ${orphanParts(d, { limit: "$2", by: "$3::uuid", condition: "true", over: () => "r.owner = any($1::uuid[])", isGone: "true" })}${RECLAIMED(d)}`,
);
/** Leaves the runs of dead nodes to an operator, who decides on each run: each is an orphan from now on. */
export const endClaims = statement(
  "end_claims",
  "Ends the leases of what earlier incarnations of a node held, for an operator to decide.",
  ({ schema: s, now }) => `
with l as materialized (
  select r.id from ${s}.runs r
  where r.state = 'running' and r.owner = any($1::uuid[]) and r.lease_until > (select ${now})
  order by r.id
  for no key update skip locked
)
update ${s}.runs r set lease_until = ${now} where r.id = any(array(select id from l)) and r.token is not null`,
);

/** More than a node can hold. */
const ALL = 100_000;

const heartbeatNode = statement(
  "heartbeat_node",
  "Notes that a node is alive.",
  ({ schema: s, now }) => `
update ${s}.nodes set seen_at = ${now} where incarnation = $1 and stopped_at is null returning incarnation`,
);

const stopNode = statement(
  "stop_node",
  "Notes that a node has stopped.",
  ({ schema: s, now }) => `update ${s}.nodes set stopped_at = ${now} where incarnation = $1 and stopped_at is null`,
);

const groupsIn = (ids: string, s: string, only = "true") => `array(
    select ${groupJson("g")}
    from unnest(${ids}) with ordinality as o(id, ord) join ${s}.claim_groups g on g.id = o.id where ${only} order by o.ord
  )`;

const listNodes = statement(
  "list_nodes",
  "Lists nodes with their mode, groups and number of runs.",
  ({ schema: s, now }) => `
select n.incarnation, n.identity, n.name, n.env, n.stack, n.build, ${ms("n.started_at")} as "startedAt",
  ${ms("n.seen_at")} as "seenAt", ${ms("n.stopped_at")} as "stoppedAt",
  n.executors, n.alone, n.heartbeat_ms::float8 as "heartbeatMs", n.lease_ms::float8 as "leaseMs",
  n.presence_grace_ms::float8 as "presenceGraceMs",
  n.stopped_at is null and ${isHeard(now)} as alive,
  n.mode, n.overrides, n.drain, ${groupsIn("n.serves", s)} as serves, ${groupsIn("n.claims", s)} as claims,
  ${groupsIn("n.claims", s, `n.stopped_at is null and n.declared ->> g.id::text <> ${declaredDigest("g")}`)} as overruled,
  (select count(*)::int from ${s}.runs r where r.state = 'running' and r.owner = n.incarnation) as holds, n.vitals
from ${s}.nodes n
where n.env = $1 and ($2 or n.stopped_at is null)
order by n.started_at desc, n.incarnation`,
);

const listPrograms = statement(
  "list_programs",
  "Lists the programs that nodes have reported.",
  ({ schema: s }) => `
select name, kind, shape, input_schema as "inputSchema", ${ms("at")} as at from ${s}.programs where env = $1 order by name`,
);

/** `onNews`: called when a node's mode was changed. */
export function nodeStore(db: Database, onNews: () => void): NodeStore {
  return {
    register: (node) => register(db, node),
    async claimsFrom(incarnation, groupIds) {
      await db.run(claimsFrom, [incarnation, groupIds]);
    },
    async changeMode(incarnation, change, { keep, by }) {
      const values = [incarnation, ...changeColumns(change), keep, by];
      const [state] = await db.run<ModeState>(changeNodeMode, values);
      onNews();
      return state ?? null;
    },
    async heartbeat(incarnation) {
      return (await db.run(heartbeatNode, [incarnation])).length > 0;
    },
    async stop(incarnation) {
      await db.run(stopNode, [incarnation]);
    },
    list: ({ env, stopped = false }) => db.run<NodeRecord>(listNodes, [env, stopped]),
    programs: (env) => db.run<ProgramRecord>(listPrograms, [env]),
  };
}

interface RegisterRow extends Rival, ModeState {
  readonly outcome: RegisterAnswer["outcome"];
  readonly dead: string[] | null;
}

/** A separate statement reclaims claims: a start that dies before it is repeated and finds the same dead nodes. */
async function register(db: Database, node: NodeRegistration): Promise<RegisterAnswer> {
  const [row] = await db.run<RegisterRow>(registerNode, registerValues(node));
  const { outcome, dead, mode, overrides, drain, ...by } = row!;
  if (outcome === "refused") return { outcome, by };
  if (outcome === "stopped") return { outcome };
  if (!dead || dead.length === 0) return { outcome, mode: { mode, overrides, drain }, reclaimed: [] };
  if (node.reclaims === false) await db.run(endClaims, [dead]);
  const reclaimed = node.reclaims === false ? [] : await reclaimFrom(db, dead, node.incarnation);
  return { outcome, mode: { mode, overrides, drain }, reclaimed };
}

async function reclaimFrom(db: Database, dead: readonly string[], by: string): Promise<readonly Reclaimed[]> {
  const rows = await db.run<ReclaimedRow>(reclaimClaimsOf, [dead, ALL, by]);
  db.onWork([...new Set(rows.flatMap(({ claim_group }) => claim_group ?? []))]);
  return settleReclaimed(db, rows, by);
}

/** Of two programs with one name, the last counts. */
export function registerValues(node: NodeRegistration): readonly string[] {
  const programs = new Map((node.programs ?? []).map((one): [string, ProgramFacts] => [one.name, one]));
  return [JSON.stringify(columnsOf(node)), JSON.stringify([...programs.values()])];
}

function columnsOf(node: NodeRegistration): Readonly<Record<string, unknown>> {
  return {
    incarnation: node.incarnation,
    identity: node.identity,
    name: node.name,
    env: node.env,
    stack: node.stack,
    build: node.build,
    serves: node.serves ?? [],
    executors: node.executors ?? [],
    mode: node.mode ?? "full",
    alone: node.alone ?? false,
    heartbeat_ms: node.heartbeatMs ?? null,
    lease_ms: node.leaseMs ?? null,
    presence_grace_ms: node.presenceGraceMs ?? null,
  };
}

/** Mode, drain, clear all, clear one, overrides to add. */
function changeColumns(change: ModeChange): unknown[] {
  return [
    "set" in change ? change.set : null,
    "drain" in change ? change.drain : null,
    "clearAll" in change,
    "clear" in change ? change.clear : null,
    "override" in change ? JSON.stringify({ [change.override]: change.mode }) : null,
  ];
}
