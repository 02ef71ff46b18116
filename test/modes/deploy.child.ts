// A node process of a deployment, for the tests that roll, kill and drain it: each step leaves one row that says who did it.

import pg from "pg";
import { createNode } from "../../src/client/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { deployed } from "./deploy-programs.js";

const [url, schema, identity, grace, more] = process.argv.slice(2) as [string, string, string, string, string];
const pool = new pg.Pool({ connectionString: url, max: 2 });
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: deployed(pool, schema, identity),
  identity,
  env: "deploy",
  signals: true,
  shutdownGrace: Number(grace),
  concurrency: 4,
  lease: "3s",
  startupGrace: 0,
  ...(JSON.parse(more) as object),
});
process.send?.({ ready: node.incarnation });
