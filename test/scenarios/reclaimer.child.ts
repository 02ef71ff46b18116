// Reclaims runs as fast as it can, until it or its database is killed.

import { openPostgres } from "../../src/store/postgres/open.js";

const [url, schema, limit] = process.argv.slice(2) as [string, string, string];
const store = openPostgres(url, { schema });
const incarnation = crypto.randomUUID();
process.send!("ready");
process.on("uncaughtException", () => process.exit(1));
for (;;) {
  await store.reclaim({ incarnation, env: "test", watchedMs: 60_000, troubled: false, limit: Number(limit) });
  await store.runs.reclaimExpired({ env: "test", limit: Number(limit) });
}
