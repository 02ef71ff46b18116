// The shop's database: its own tables and Holdfast's, over one pool of connections. Run this file once per deployment.

import { pathToFileURL } from "node:url";
import { postgres } from "holdfast/postgres";
import pg from "pg";

export const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
pool.on("error", () => {}); // an idle connection that breaks is replaced; without a listener it would end the process
export const store = postgres(pool);

const TABLES = `
  create table orders (id text primary key, customer text not null, cents int not null, shipped_at timestamptz);
  create table reports (night timestamptz primary key, orders int not null, cents bigint not null);
  create table partner_calls (key text primary key, what text not null, order_id text not null, customer text not null,
    at timestamptz not null default clock_timestamp(), times int not null default 1)`;

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  await store.migrate();
  await pool.query(TABLES.replaceAll("create table", "create table if not exists"));
  await store.close();
  await pool.end();
}
