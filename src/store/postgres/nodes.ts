// Registers nodes, keeps their heartbeat, lists them with what they hold.

import { isUuid } from "../../kernel/id.js";
import { checkNode } from "../check/node.js";
import { checkText, refuse } from "../check/value.js";
import type { NodeRecord, NodeRegistration, NodeStore, RegisterAnswer } from "../contract/nodes.js";
import type { Reclaimed } from "../contract/runs.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { ms } from "./instant.js";
import { isHeard } from "./presence-sql.js";
import { type ReclaimedRow, settleReclaimed } from "./reclaimed.js";
import { RECLAIMED, takeBackParts } from "./sweep-expired.js";

const registerNode = statement(
  "register_node",
  ({ schema: s, now }) => `
select outcome, dead, (rival).incarnation, (rival).identity, (rival).name, (rival).alone
from ${s}.register_node(jsonb_populate_record(null::${s}.nodes, $1::jsonb), ${now})`,
);

/** What the dead held. The UPDATE asks again whether they still do. */
const takeBackClaims = statement(
  "take_back_claims",
  (d) => `
with t as materialized (select ${d.now} as now
), ${takeBackParts(d, "$2", "true", (row) => `${row}owner = any($1::uuid[])`, "true")}${RECLAIMED(d)}`,
);
/** More than a node can hold. */
const ALL = 100_000;

const heartbeatNode = statement(
  "heartbeat_node",
  ({ schema: s, now }) => `
update ${s}.nodes set seen_at = ${now} where incarnation = $1 and stopped_at is null returning incarnation`,
);

const stopNode = statement(
  "stop_node",
  ({ schema: s, now }) => `update ${s}.nodes set stopped_at = ${now} where incarnation = $1 and stopped_at is null`,
);

const listNodes = statement(
  "list_nodes",
  ({ schema: s, now }) => `
select n.incarnation, n.identity, n.name, n.env, n.stack, n.build, ${ms("n.started_at")} as started_at,
  ${ms("n.seen_at")} as seen_at, ${ms("n.stopped_at")} as stopped_at,
  n.executors, n.alone, n.heartbeat_ms::float8 as "heartbeatMs", n.lease_ms::float8 as "leaseMs",
  n.stopped_at is null and ${isHeard(now)} as alive,
  array(
    select json_build_object('env', g.env, 'stack', nullif(g.stack, ''), 'queue', g.queue, 'program', g.program,
      'version', nullif(g.version, ''))
    from unnest(n.serves) with ordinality as o(id, ord) join ${s}.claim_groups g on g.id = o.id order by o.ord
  ) as serves,
  (select count(*)::int from ${s}.runs r where r.state = 'running' and r.owner = n.incarnation) as holds
from ${s}.nodes n
where n.env = $1 and ($2 or n.stopped_at is null)
order by n.started_at desc, n.incarnation`,
);

interface Row extends Omit<NodeRecord, "startedAt" | "seenAt" | "stoppedAt"> {
  started_at: number;
  seen_at: number;
  stopped_at: number | null;
}

export function nodeStore(db: Database): NodeStore {
  return {
    register: (node) => register(db, node),
    async heartbeat(incarnation) {
      return isUuid(incarnation) && (await db.run(heartbeatNode, [incarnation])).length > 0;
    },
    async stop(incarnation) {
      if (isUuid(incarnation)) await db.run(stopNode, [incarnation]);
    },
    async list({ env, stopped = false }) {
      refuse(checkText("env", env));
      const rows = await db.run<Row>(listNodes, [env, stopped]);
      return rows.map(({ started_at, seen_at, stopped_at, ...node }): NodeRecord => {
        return { ...node, startedAt: started_at, seenAt: seen_at, stoppedAt: stopped_at };
      });
    },
  };
}

interface RegisterRow {
  outcome: RegisterAnswer["outcome"];
  dead: string[] | null;
  incarnation: string;
  identity: string;
  name: string;
  alone: boolean;
}

/** What is taken back is a statement of its own: a start that dies before it is made again finds the same dead. */
async function register(db: Database, node: NodeRegistration): Promise<RegisterAnswer> {
  refuse(checkNode(node));
  const [row] = await db.run<RegisterRow>(registerNode, [JSON.stringify(columnsOf(node))]);
  const { outcome, dead, ...by } = row!;
  if (outcome === "refused") return { outcome, by };
  if (outcome === "stopped") return { outcome };
  return { outcome, reclaimed: dead && dead.length > 0 ? await takeBack(db, dead) : [] };
}

async function takeBack(db: Database, dead: readonly string[]): Promise<readonly Reclaimed[]> {
  const rows = await db.run<ReclaimedRow>(takeBackClaims, [dead, ALL]);
  db.onWork([...new Set(rows.flatMap(({ claim_group }) => claim_group ?? []))]);
  return settleReclaimed(db, rows);
}

function columnsOf(node: NodeRegistration): Readonly<Record<string, unknown>> {
  const { incarnation, identity, name, env, stack, build, serves, executors, alone, heartbeatMs, leaseMs } = node;
  const who = { incarnation, identity, name, env, stack, build };
  const lists = { serves: serves ?? [], executors: executors ?? [] };
  return { ...who, ...lists, alone: alone ?? false, heartbeat_ms: heartbeatMs ?? null, lease_ms: leaseMs ?? null };
}
