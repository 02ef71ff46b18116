// Claims one run for a minute and reports what it got and the time of its own clock.

import { systemWorld } from "../../src/kernel/system-world.js";
import { openPostgres } from "../../src/store/postgres/open.js";

const [url, schema, groupId] = process.argv.slice(2) as [string, string, string];
const world = systemWorld();
const store = openPostgres(url, { schema });
const claimed = await store.runs.claim({
  owner: world.token(),
  token: world.token(),
  groupIds: [Number(groupId)],
  limit: 1,
  leaseMs: 60_000,
});
console.log(JSON.stringify({ wallNow: world.wallNow(), claimed: claimed.map(({ runId }) => runId) }));
await store.close();
