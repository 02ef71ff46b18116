// Checks whether a server answers.

import { readFile } from "node:fs/promises";
import pg from "pg";
import { SUPERUSER } from "./initialise.js";
import type { Place } from "./place.js";

const CONNECT_TIMEOUT_MS = 5_000;
const WRONG_PASSWORD = "28P01";

export async function urlOf(place: Place, port: number): Promise<string> {
  const password = (await readFile(place.password, "utf8")).trim();
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}

/** SCRAM proves both sides: only the server of our own cluster knows our password. Throws when that proof fails. */
export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === WRONG_PASSWORD) throw error;
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
