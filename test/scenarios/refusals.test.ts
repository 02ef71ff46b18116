// The server refuses the nodes for a while: a rotated password, revoked rights, a connection limit, a missing schema. Nothing fails.

import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { expectNothingEnds, type Refusal } from "./refused-work.js";

const { url, schema, pool } = testSchema();
const role = `${schema}_role`;
const booked = `${schema}_booked`;
const PASSWORD = "first";

beforeAll(async () => {
  const store = openPostgres(url, { schema });
  await store.migrate();
  await store.close();
  await pool.query(`create role ${role} login password '${PASSWORD}'`);
  await pool.query(`create table ${booked} (run text)`);
  await grant();
});
afterAll(async () => {
  await pool.query(`drop table ${booked}`);
  await pool.query(`drop owned by ${role}`);
  await pool.query(`drop role ${role}`);
});

async function grant(): Promise<void> {
  await pool.query(`grant all on table ${booked} to ${role}`);
  await pool.query(`grant usage on schema ${schema} to ${role}`);
  for (const all of ["tables", "sequences", "functions"])
    await pool.query(`grant all on all ${all} in schema ${schema} to ${role}`);
}

/** Open connections survive most refusals: here they are ended, as by a restart or a network fault. */
const cut = () =>
  pool.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and pid <> pg_backend_pid()", [
    role,
  ]);

/** Cancels any statement of the nodes, renewals included, in the middle of what it does. */
class Canceller {
  #on = false;
  #running: Promise<void> = Promise.resolve();
  #hits = 0;

  async start(): Promise<void> {
    this.#on = true;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#on = false;
    await this.#running;
    expect(this.#hits, "statements that were at work when they were cancelled").toBeGreaterThan(20);
  }

  async #run(): Promise<void> {
    while (this.#on) {
      const text = "select pg_cancel_backend(pid) from pg_stat_activity where usename = $1 and state = 'active'";
      this.#hits += (await pool.query(text, [role])).rows.length;
    }
  }
}
const canceller = new Canceller();

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "a rotated password (28P01)": {
    refuse: () => pool.query(`alter role ${role} password 'second'`).then(cut),
    accept: () => pool.query(`alter role ${role} password '${PASSWORD}'`),
  },
  // Transaction steps have no connection yet; all open connections of the nodes keep working.
  "a rotated password with open connections (28P01)": {
    refuse: () => pool.query(`alter role ${role} password 'second'`),
    accept: () => pool.query(`alter role ${role} password '${PASSWORD}'`),
    fromTheStart: true,
  },
  "a role that may not log in (28000)": {
    refuse: () => pool.query(`alter role ${role} nologin`).then(cut),
    accept: () => pool.query(`alter role ${role} login`),
  },
  "revoked rights (42501)": {
    refuse: () => pool.query(`revoke all on all tables in schema ${schema} from ${role}`),
    accept: grant,
  },
  "a journal that may not be read (42501)": {
    refuse: () => pool.query(`revoke all on table ${schema}.journal, ${schema}.inbox from ${role}`),
    accept: grant,
  },
  "a connection limit (53300)": {
    refuse: () => pool.query(`alter role ${role} connection limit 0`).then(cut),
    accept: () => pool.query(`alter role ${role} connection limit -1`),
  },
  "sessions that are read-only (25006)": {
    refuse: () => pool.query(`alter role ${role} set default_transaction_read_only = on`).then(cut),
    accept: () => pool.query(`alter role ${role} reset default_transaction_read_only`),
  },
  "statements that are cancelled now and then (57014, F32)": {
    refuse: () => canceller.start(),
    accept: () => canceller.stop(),
    isRepeated: true,
  },
  "a missing schema (3F000)": {
    refuse: () => pool.query(`alter schema ${schema} rename to ${schema}_away`),
    accept: () => pool.query(`alter schema ${schema}_away rename to ${schema}`),
  },
};

test.for(Object.keys(REFUSALS))(
  "%s ends nothing: all work is kept, reported and done later",
  { timeout: 90_000 },
  async (name) => {
    const address = new URL(url);
    address.username = role;
    address.password = PASSWORD;
    const server = {
      url: address.href,
      clientUrl: url,
      schema,
      booked,
      query: (text: string) => pool.query(text),
    };
    await expectNothingEnds(server, REFUSALS[name]!);
  },
);
