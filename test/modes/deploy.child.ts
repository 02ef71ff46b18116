// A node process of a deployment, for the tests that roll, kill and drain it.

import pg from "pg";
import { tableClaims } from "../../examples/table-claims.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { deployed } from "./deploy-programs.js";

const [url, schema, identity, more] = process.argv.slice(2) as [string, string, string, string];
const { claims, ...options } = JSON.parse(more) as { claims?: string };
const pool = new pg.Pool({ connectionString: url, max: 2 });
/** Work claims are kept in another database. */
const elsewhere = new pg.Pool({ connectionString: url, options: `-c search_path=${claims}`, max: 2 });
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: [deployed(pool, schema, identity)],
  identity: { id: identity },
  env: "deploy",
  signals: true,
  timing: { shutdownGrace: "5s", lease: "3s" },
  concurrency: 4,
  ...(claims && { flow: { claims: { adapter: tableClaims(elsewhere), lease: "1s" } } }),
  ...options,
});
process.send?.({ ready: node.incarnation });
