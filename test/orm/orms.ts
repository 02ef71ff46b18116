// Drizzle, Kysely and Knex as applications set them up.

import { drizzle } from "drizzle-orm/node-postgres";
import { pgSchema, text } from "drizzle-orm/pg-core";
import { drizzleClient, fromDrizzle } from "holdfast/drizzle";
import { fromKnex, knexOn } from "holdfast/knex";
import { fromKysely, kyselyPool } from "holdfast/kysely";
import makeKnex, { type Knex } from "knex";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import type { OpenOrm, Write } from "./orm.js";

function poolTo(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on("error", () => {});
  return pool;
}

const openDrizzle: OpenOrm = (url, schema) => {
  const bookings = pgSchema(schema).table("bookings", { run: text().notNull(), what: text().notNull() });
  const pool = poolTo(url);
  const db = drizzle({ client: pool });
  type Writer = Pick<typeof db, "insert">;
  const writing =
    (to: Writer): Write =>
    (run, what) =>
      to.insert(bookings).values({ run, what });
  return {
    name: "drizzle",
    transaction: (work) => db.transaction((tx) => work(writing(tx), fromDrizzle(tx))),
    over: (tx) => {
      const inStep = drizzle({ client: drizzleClient(tx) });
      return { write: writing(inStep), nested: (work) => inStep.transaction((inner) => work(writing(inner))) };
    },
    close: () => pool.end(),
  };
};

interface Tables {
  bookings: { run: string; what: string };
}

const openKysely: OpenOrm = (url, schema) => {
  const open = (pool: pg.Pool) =>
    // The plugin renames what statements return.
    new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] });
  const db = open(poolTo(url));
  const writing =
    (to: Kysely<Tables>): Write =>
    (run, what) =>
      to.withSchema(schema).insertInto("bookings").values({ run, what }).execute();
  return {
    name: "kysely",
    transaction: (work) => db.transaction().execute((trx) => work(writing(trx), fromKysely(trx))),
    over: (tx) => {
      const inStep = open(kyselyPool(tx));
      const nested = (work: (write: Write) => Promise<void>) =>
        inStep.transaction().execute((inner) => work(writing(inner)));
      return { write: writing(inStep), nested };
    },
    close: () => db.destroy(),
  };
};

const openKnex: OpenOrm = (url, schema) => {
  const rename = (rows: unknown) =>
    Array.isArray(rows) ? rows.map((row) => ({ renamed: row })) : { renamed: true, rows: [] };
  const knex = makeKnex({ client: "pg", connection: url, pool: { min: 0, max: 4 }, postProcessResponse: rename });
  const writing =
    (to: Knex): Write =>
    async (run, what) => {
      await to("bookings").withSchema(schema).insert({ run, what });
    };
  return {
    name: "knex",
    transaction: (work) => knex.transaction((trx) => work(writing(trx), fromKnex(trx))),
    over: (tx) => {
      const inStep = knexOn(knex, tx);
      return { write: writing(inStep), nested: (work) => inStep.transaction((inner) => work(writing(inner))) };
    },
    close: () => knex.destroy(),
  };
};

export const ORMS: Readonly<Record<string, OpenOrm>> = { drizzle: openDrizzle, kysely: openKysely, knex: openKnex };
