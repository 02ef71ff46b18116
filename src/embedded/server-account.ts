// Chooses the account of the server. PostgreSQL refuses to run as root, and a machine need not have a `postgres` user.

import { readFileSync, statSync } from "node:fs";
import { EmbeddedFailed } from "./error.js";
import { type Account, runProgram } from "./run-program.js";

/** The usual id of `nobody`; the kernel needs no entry in /etc/passwd to run a process under it. */
const OVERFLOW_ID = 65534;

/** Null for an ordinary user: the server then runs under our own account. */
export function serverAccount(dataFolder: string): Account | null {
  if (process.getuid?.() !== 0) return null;
  // A folder that an ordinary user initialised can be served only by that user.
  return ownerOf(dataFolder) ?? nobody();
}

/** Tested by actually entering it: modes, ACLs and mount options all matter. */
export async function canEnter(folder: string, account: Account | null): Promise<boolean> {
  if (account === null) return true;
  const outcome = await runProgram("/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], { account, cwd: "/" });
  if (outcome.spawnError === "EPERM") {
    throw new EmbeddedFailed(
      `PostgreSQL refuses to run as root, and this process may not start one under uid ${account.uid}. ` +
        "Run as an ordinary user, or pass the URL of a PostgreSQL database instead.",
    );
  }
  return outcome.code === 0;
}

function ownerOf(folder: string): Account | null {
  try {
    const { uid, gid } = statSync(folder);
    return uid === 0 ? null : { uid, gid };
  } catch {
    return null;
  }
}

/** initdb requires an account with a name, so any named one is better than a bare number. */
function nobody(): Account {
  const named = namedAccounts();
  for (const name of ["nobody", "daemon", "bin"]) {
    const account = named.get(name);
    if (account !== undefined) return account;
  }
  const [first] = named.values();
  return first ?? { uid: OVERFLOW_ID, gid: OVERFLOW_ID };
}

function namedAccounts(): Map<string, Account> {
  const accounts = new Map<string, Account>();
  let text = "";
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {
    // No such file: only the number is known.
  }
  for (const [, name, uid, gid] of text.matchAll(/^([^:\n]+):[^:\n]*:(-?\d+):(-?\d+):/gm)) {
    if (name !== undefined && Number(uid) !== 0) accounts.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  return accounts;
}
