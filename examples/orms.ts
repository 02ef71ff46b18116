// Holdfast with an ORM: an order and its run are written together, and a step writes through the ORM exactly once.
import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { createNode, type StepTransactionClient, workflow } from "holdfast";
import { drizzleClient, fromDrizzle } from "holdfast/drizzle";
import { startEmbedded } from "holdfast/embedded";
import { fromKnex, knexOn } from "holdfast/knex";
import { fromKysely, kyselyPool } from "holdfast/kysely";
import { postgres } from "holdfast/postgres";
import makeKnex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";

await using server = await startEmbedded();
const pool = new pg.Pool({ connectionString: server.url });
pool.on("error", () => {}); // an idle connection that breaks is replaced; without a listener it would end the process
await pool.query("create table orders (id text primary key, cents int not null default 0)");
const store = postgres(pool);
await store.migrate();

// Drizzle
const orders = pgTable("orders", { id: text().primaryKey(), cents: integer().notNull().default(0) });
const db = drizzle({ client: pool });

const ship = workflow("ship", async (ctx, id: string) => {
  return ctx.transaction("price", async (tx) => {
    const inStep = drizzle({ client: drizzleClient(tx) });
    return inStep
      .update(orders)
      .set({ cents: 300 })
      .where(eq(orders.id, id))
      .returning({ id: orders.id, cents: orders.cents });
  });
});
const node = await createNode({ store, programs: [ship] });

const run = await db.transaction(async (tx) => {
  await tx.insert(orders).values({ id: "o-1" });
  return node.start(ship, "o-1", { tx: fromDrizzle(tx) });
});
console.log(await run.result());

// Kysely
interface Tables {
  orders: { id: string; cents?: number };
}
const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });

const second = await kysely.transaction().execute(async (trx) => {
  await trx.insertInto("orders").values({ id: "o-2" }).execute();
  return node.start(ship, "o-2", { tx: fromKysely(trx) });
});

const priceByKysely = (tx: StepTransactionClient, id: string) => {
  const inStep = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: kyselyPool(tx) }) });
  return inStep.updateTable("orders").set({ cents: 400 }).where("id", "=", id).execute();
};

// Knex
const knex = makeKnex({ client: "pg", connection: server.url });

const third = await knex.transaction(async (trx) => {
  await trx("orders").insert({ id: "o-3" });
  return node.start(ship, "o-3", { tx: fromKnex(trx) });
});

const priceByKnex = (tx: StepTransactionClient, id: string) =>
  knexOn(knex, tx)("orders").where({ id }).update({ cents: 500 });

const prices = workflow("prices", async (ctx) => {
  await ctx.transaction("kysely", async (tx) => void (await priceByKysely(tx, "o-2")));
  await ctx.transaction("knex", async (tx) => void (await priceByKnex(tx, "o-3")));
});
await Promise.all([second.result(), third.result()]);
const other = await createNode({ store, programs: [prices] });
await (await other.start(prices)).result();
console.log(await db.select().from(orders).orderBy(orders.id));

await Promise.all([node.stop(), other.stop()]);
await knex.destroy();
await store.close();
await pool.end();
