// Finds the database for a command: the --url option, the environment, or a running embedded server.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { urlOf } from "../embedded/find-running.js";
import { choosePlace, defaultRefuge } from "../embedded/place.js";
import { readPostmaster } from "../embedded/postmaster-file.js";
import { CommandMisused, DatabaseNotSet } from "./error.js";
import type { Terminal } from "./text/terminal.js";

export interface DatabaseAddress {
  readonly url: string;
  /** Where the address came from, for messages; the address itself carries a password and is never shown. */
  readonly from: string;
}

const EMBEDDED_FOLDER = join(".holdfast", "postgres");
const VARIABLES = ["HOLDFAST_DATABASE_URL", "DATABASE_URL"];
const SCHEMES = /^(postgres|postgresql):\/\//;

export async function databaseAddress(
  passed: string | undefined,
  { env, cwd }: Pick<Terminal, "env" | "cwd">,
): Promise<DatabaseAddress> {
  if (passed !== undefined) return checked({ url: passed, from: "--url" });
  for (const name of VARIABLES) {
    const url = env[name];
    if (url) return checked({ url, from: name });
  }
  const url = await findEmbedded(cwd);
  if (url === null) throw new DatabaseNotSet(EMBEDDED_FOLDER);
  return { url, from: EMBEDDED_FOLDER };
}

function checked(address: DatabaseAddress): DatabaseAddress {
  if (SCHEMES.test(address.url)) return address;
  throw new CommandMisused(
    `${address.from} is not a PostgreSQL address; it must look like postgres://user@host:5432/database`,
  );
}

/**
 * Of the running embedded server; starts and creates nothing. Also finds a server that is still starting: the store tries
 * again until it answers.
 */
async function findEmbedded(cwd: string): Promise<string | null> {
  const dataDir = join(cwd, EMBEDDED_FOLDER);
  // Choosing a place creates the folder if it does not exist.
  if (!existsSync(dataDir)) return null;
  try {
    const place = await choosePlace({ dataDir, refuge: defaultRefuge(), onNotice: () => {} });
    const postmaster = await readPostmaster(place.data);
    return postmaster && (await urlOf(place, postmaster.port));
  } catch {
    // Another user's folder must not be used.
    return null;
  }
}

/**
 * Host and port, only when they are certain: an unescaped "@", "/" or "#" in a password shifts every part, and a piece
 * of the password may then look like the host.
 */
export function hostOf(url: string): string | null {
  try {
    const { host, pathname, search, hash } = new URL(url);
    return host === "" || /[@%]/.test(pathname + search + hash + host) ? null : host;
  } catch {
    return null;
  }
}
