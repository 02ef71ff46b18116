// A schema for one measurement: named by its time, dropped at the end; what a killed measurement left is dropped by the next.

import pg from "pg";
import type { World } from "../../kernel/world.js";

const NAME = /^holdfast_bench_([0-9a-z]{6,10})_[0-9a-f]{8}$/;
/** A measurement takes minutes at most: an older schema is left over. */
const LEFT_OVER_MS = 3_600_000;

/** A person is waiting. */
const CONNECT_MS = 5_000;

export interface ThrowAwaySchema {
  readonly name: string;
  /** On a connection of its own; may be repeated. */
  drop(): Promise<void>;
}

/** Makes nothing yet, but drops what killed measurements left. */
export async function throwAwaySchema(url: string, world: World): Promise<ThrowAwaySchema> {
  const name = `holdfast_bench_${world.wallNow().toString(36)}_${world.token().replaceAll("-", "").slice(0, 8)}`;
  await connected(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select nspname as name from pg_namespace where starts_with(nspname, 'holdfast_bench_')",
    );
    const isOld = ({ name: other }: { name: string }) => {
      const madeAt = NAME.exec(other)?.[1];
      return madeAt !== undefined && world.wallNow() - Number.parseInt(madeAt, 36) > LEFT_OVER_MS;
    };
    for (const old of rows.filter(isOld)) await client.query(`drop schema if exists ${old.name} cascade`);
  });
  return {
    name,
    drop: () => connected(url, async (client) => void (await client.query(`drop schema if exists ${name} cascade`))),
  };
}

async function connected(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on("error", () => {});
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
