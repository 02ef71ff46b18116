// Finds the database for a command: the --url option, the environment, or a running embedded server.

import { CommandMisused, DatabaseNotSet } from "./error.js";
import { EMBEDDED_FOLDER, findEmbedded } from "./find-embedded.js";
import type { Terminal } from "./text/terminal.js";

export interface DatabaseAddress {
  readonly url: string;
  /** Where the address came from, for messages; the address itself carries a password and is never shown. */
  readonly from: string;
}

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
