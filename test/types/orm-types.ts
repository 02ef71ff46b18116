// Compiled, never run: what the ORM entry points accept, and what they refuse.

import { drizzle } from "drizzle-orm/node-postgres";
import makeKnex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import type { StepTransactionClient, Transaction } from "../../src/index.js";
import { drizzleClient, fromDrizzle } from "../../src/orm/drizzle.js";
import { fromKnex, knexOn } from "../../src/orm/knex.js";
import { fromKysely, kyselyPool } from "../../src/orm/kysely.js";
import { fromPrisma } from "../../src/orm/prisma.js";

declare const tx: StepTransactionClient;

export const db = drizzle({ client: drizzleClient(tx) });
export const kysely = new Kysely<{ orders: { id: string } }>({
  dialect: new PostgresDialect({ pool: kyselyPool(tx) }),
});
const given = makeKnex<{ id: string }>({ client: "pg" });
/** It keeps the type of the application's own. */
export const knex: typeof given = knexOn(given, tx);

export const ours: Promise<Transaction>[] = [
  db.transaction(async (inner) => fromDrizzle(inner)),
  kysely.transaction().execute(async (trx) => fromKysely(trx)),
  given.transaction(async (trx) => fromKnex(trx)),
];

// @ts-expect-error: the database, not a transaction
fromDrizzle(db);
// @ts-expect-error: the database, not a transaction
fromKysely(kysely);
// @ts-expect-error: the database, not a transaction
fromKnex(given);
declare const prisma: {
  $queryRawUnsafe<T>(query: string, ...values: unknown[]): Promise<T>;
  $connect(): Promise<void>;
};
// @ts-expect-error: the client, not a transaction
fromPrisma(prisma);
