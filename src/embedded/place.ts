// The folder one embedded server lives in, and which folder that is when root's own cannot be entered by the server.
//
//   <folder>/cluster/data       PostgreSQL's data folder, owned by the server's account, 0700
//   <folder>/cluster/password   ours alone, 0600; appears together with the data, by one rename
//   <folder>/owner.json         who started the running server
//   <folder>/server.log, lock, lib/

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { chmod, lstat, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { EmbeddedFailed } from "./error.js";
import { type Account, runProgram } from "./run-program.js";

export interface PlaceOptions {
  readonly dataDir: string;
  /** Root only: where folders go that the server's account can enter. */
  readonly refuge: string;
  readonly onNotice: (message: string) => void;
}

export async function choosePlace(options: PlaceOptions): Promise<Place> {
  const wanted = resolve(options.dataDir);
  const account = serverAccount(join(wanted, "cluster", "data"));
  await makeFolder(wanted, account);
  if (account === null) return placeAt(wanted, wanted, account);
  if (await canEnter(wanted, account)) return placeAt(wanted, options.refuge, account);

  await makeRefuge(options.refuge);
  const key = createHash("sha256").update(wanted).digest("hex").slice(0, 16);
  const moved = join(options.refuge, key);
  const movedAccount = serverAccount(join(moved, "cluster", "data")) ?? account;
  await makeFolder(moved, movedAccount);
  if (!(await canEnter(moved, movedAccount))) {
    throw new EmbeddedFailed(`Neither ${wanted} nor ${moved} can be entered by uid ${movedAccount.uid}`);
  }
  options.onNotice(
    `holdfast: PostgreSQL cannot run as root and uid ${movedAccount.uid} cannot enter ${wanted}; the data is in ${moved}`,
  );
  return placeAt(moved, options.refuge, movedAccount);
}

/** /var/lib outlives a reboot, the temporary folder may not. */
export function defaultRefuge(): string {
  return existsSync("/var/lib") ? "/var/lib/holdfast" : join(tmpdir(), "holdfast-root");
}

/** The temporary folder is world-writable: a refuge that another user prepared would give them the server. */
export async function makeRefuge(refuge: string): Promise<void> {
  await mkdir(refuge, { recursive: true, mode: 0o755 });
  const info = await lstat(refuge);
  if (!info.isDirectory() || info.uid !== 0 || (info.mode & 0o022) !== 0) {
    throw new EmbeddedFailed(`${refuge} must be a folder that is owned by root and writable only by root`);
  }
  await chmod(refuge, 0o755);
}

async function makeFolder(folder: string, account: Account | null): Promise<void> {
  if (existsSync(folder)) return;
  const mode = account === null ? 0o700 : 0o711;
  await mkdir(folder, { recursive: true, mode });
  await chmod(folder, mode);
  // The folder contains a password and is usually inside a repository.
  await writeFile(join(folder, ".gitignore"), "*\n");
}

export type Place = Readonly<ReturnType<typeof placeAt>>;

/**
 * `cache`: where a copy of the binaries goes when they cannot be used in place. `account`: null if the server runs under
 * our own.
 */
function placeAt(folder: string, cache: string, account: Account | null) {
  const cluster = join(folder, "cluster");
  return {
    folder,
    cluster,
    data: join(cluster, "data"),
    password: join(cluster, "password"),
    owner: join(folder, "owner.json"),
    log: join(folder, "server.log"),
    lock: join(folder, "lock"),
    lib: join(folder, "lib"),
    cache,
    account,
  };
}

/** The usual id of the unprivileged account; the kernel needs no entry in /etc/passwd to run a process under it. */
const OVERFLOW_ID = 65534;

/** Null for an ordinary user: the server then runs under our own account. */
function serverAccount(dataFolder: string): Account | null {
  if (process.getuid?.() !== 0) return null;
  // A folder that an ordinary user initialised can be served only by that user.
  return ownerOf(dataFolder) ?? unprivileged();
}

/** Tested by actually entering it: modes, ACLs and mount options all matter. */
async function canEnter(folder: string, account: Account | null): Promise<boolean> {
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
function unprivileged(): Account {
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
