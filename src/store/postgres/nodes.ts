// Registers nodes, keeps their heartbeat, lists them with what they hold.

import { isUuid } from "../../kernel/id.js";
import { checkNode } from "../check/node.js";
import { checkText, refuse } from "../check/value.js";
import { MISSED_HEARTBEATS, type NodeRecord, type NodeStore, UNSAID_HEARTBEAT_MS } from "../contract/nodes.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { interval, ms } from "./instant.js";

const registerNode = statement(
  "register_node",
  ({ schema: s, now }) => `
insert into ${s}.nodes (incarnation, identity, name, env, stack, build, started_at, seen_at, serves, heartbeat_ms, lease_ms)
values ($1, $2, $3, $4, $5, $6, ${now}, ${now}, $7::int[], $8, $9)
on conflict (incarnation) do nothing`,
);

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
  n.heartbeat_ms::float8 as "heartbeatMs", n.lease_ms::float8 as "leaseMs",
  n.stopped_at is null and n.seen_at >= ${now}
    - ${interval(`${MISSED_HEARTBEATS} * coalesce(n.heartbeat_ms, ${UNSAID_HEARTBEAT_MS})`)} as alive,
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
    async register(node) {
      refuse(checkNode(node));
      const { incarnation, identity, name, env, stack, build, serves = [], heartbeatMs, leaseMs } = node;
      const said = [heartbeatMs ?? null, leaseMs ?? null];
      await db.run(registerNode, [incarnation, identity, name, env, stack, build, serves ?? [], ...said]);
    },
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
