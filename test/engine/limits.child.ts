// A node process that works under a limit, for the tests that watch several of them and kill one.

import pg from "pg";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { limitedOrder } from "./limited-order.js";

const [url, schema, identity] = process.argv.slice(2) as [string, string, string];
const pool = new pg.Pool({ connectionString: url, max: 4 });
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: [limitedOrder(pool, schema, identity)],
  identity: { id: identity },
  timing: { presenceGrace: "300ms", housekeeping: "100ms" },
});
process.on("message", async () => {
  await node.stop({ grace: "1s" });
  process.exit(0);
});
process.send!("ready");
