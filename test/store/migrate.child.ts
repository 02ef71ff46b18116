// A process that migrates and is killed while it does: arguments are the database's URL and the schema.

import { openPostgres } from "../../src/store/postgres/open.js";

const [url, schema] = process.argv.slice(2) as [string, string];
const store = openPostgres(url, { schema });
console.log("started");
await store.migrate();
console.log("migrated");
await store.close();
