// Registers nodes, keeps their heartbeat, lists them with what they hold.

import { isUuid } from "../../kernel/id.js";
import { checkNode } from "../check/node.js";
import { checkText, refuse } from "../check/value.js";
import type { NodeRecord, NodeRegistration, NodeStore } from "../contract/nodes.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { ms } from "./instant.js";

const registerNode = statement(
  "register_node",
  ({ schema: s, now }) => `
insert into ${s}.nodes (incarnation, identity, name, env, stack, build, started_at, seen_at)
values ($1, $2, $3, $4, $5, $6, ${now}, ${now})
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
  ({ schema: s }) => `
select n.incarnation, n.identity, n.name, n.env, n.stack, n.build, ${ms("n.started_at")} as started_at,
  ${ms("n.seen_at")} as seen_at, ${ms("n.stopped_at")} as stopped_at,
  (select count(*)::int from ${s}.runs r where r.state = 'running' and r.owner = n.incarnation) as holds
from ${s}.nodes n
where n.env = $1 and ($2 or n.stopped_at is null)
order by n.started_at desc, n.incarnation`,
);

interface Row extends NodeRegistration {
  started_at: number;
  seen_at: number;
  stopped_at: number | null;
  holds: number;
}

export function nodeStore(db: Database): NodeStore {
  return {
    async register(node) {
      refuse(checkNode(node));
      await db.run(registerNode, [node.incarnation, node.identity, node.name, node.env, node.stack, node.build]);
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
