// The PostgreSQL store keeps the store's contract.

import { testSchema } from "../harness/database.js";
import { conformOnPostgres } from "./on-postgres.js";

const { url, schema } = testSchema();

conformOnPostgres(async () => ({ url, schema }));
