// Tries on one connection what Holdfast expects of a session: locks, notifications, settings and prepared statements that hold.

import type pg from "pg";
import { sleep, type World } from "../../kernel/world.js";

export interface SessionProbe {
  readonly advisoryLocks: boolean;
  readonly notifications: boolean;
  readonly settings: boolean;
  readonly preparedStatements: boolean;
}

export const NO_SESSION: SessionProbe = {
  advisoryLocks: false,
  notifications: false,
  settings: false,
  preparedStatements: false,
};

/** A server that delivers does so within a round trip. */
const NOTIFIED_WITHIN_MS = 1_000;

/** Not behind a transaction pooler: a lock or a LISTEN would stay on a connection that others use. */
export async function probeSession(client: pg.ClientBase, world: World): Promise<SessionProbe> {
  const works = (probe: () => Promise<boolean>) => probe().catch(() => false);
  return {
    advisoryLocks: await works(() => keepsLock(client)),
    notifications: await works(() => delivers(client, world)),
    settings: await works(() => keepsSetting(client)),
    preparedStatements: await works(() => keepsStatement(client)),
  };
}

/** Others must see the lock between two statements, as presence does. */
async function keepsLock(client: pg.ClientBase): Promise<boolean> {
  const key = "hashtextextended('holdfast.probe.' || pg_backend_pid(), 0)";
  await client.query(`select pg_advisory_lock(${key})`);
  const { rows } = await client.query(
    "select count(*)::int as held from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted",
  );
  const { rows: released } = await client.query(`select pg_advisory_unlock(${key}) as done`);
  return rows[0].held > 0 && released[0].done;
}

async function delivers(client: pg.ClientBase, world: World): Promise<boolean> {
  const { rows } = await client.query("select 'holdfast_probe_' || pg_backend_pid() as channel");
  const { channel } = rows[0];
  await client.query(`listen ${channel}`);
  const stop = new AbortController();
  let isHeard = false;
  const hear = (message: { readonly channel: string }) => {
    if (message.channel !== channel) return;
    isHeard = true;
    stop.abort();
  };
  client.on("notification", hear);
  try {
    await client.query("select pg_notify($1, '')", [channel]);
    if (!isHeard) await sleep(world, NOTIFIED_WITHIN_MS, stop.signal).catch(() => {});
    return isHeard;
  } finally {
    client.removeListener("notification", hear);
    await client.query(`unlisten ${channel}`);
  }
}

async function keepsSetting(client: pg.ClientBase): Promise<boolean> {
  await client.query("select set_config('holdfast.probe', 'kept', false)");
  const { rows } = await client.query("select current_setting('holdfast.probe', true) as value");
  return rows[0].value === "kept";
}

/** Stays prepared: the driver takes it for prepared on this connection. */
async function keepsStatement(client: pg.ClientBase): Promise<boolean> {
  const query = { name: "holdfast_probe", text: "select $1::int as one", values: [1] };
  await client.query(query);
  const { rows } = await client.query(query);
  return rows[0].one === 1;
}
