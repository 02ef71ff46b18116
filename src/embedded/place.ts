// The folder one embedded server lives in, and which folder that is when root's own cannot be entered by the server.
//
//   <folder>/cluster/data       PostgreSQL's data folder, owned by the server's account, 0700
//   <folder>/cluster/password   ours alone, 0600; appears together with the data, by one rename
//   <folder>/owner.json         who started the running server
//   <folder>/server.log, lock, lib/

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { EmbeddedFailed } from "./error.js";
import type { Account } from "./run-program.js";
import { canEnter, serverAccount } from "./server-account.js";

export interface Place {
  readonly folder: string;
  readonly cluster: string;
  readonly data: string;
  readonly password: string;
  readonly owner: string;
  readonly log: string;
  readonly lock: string;
  readonly lib: string;
  /** Where a copy of the binaries goes when they cannot be used in place. */
  readonly cache: string;
  /** Null: the server runs under our own account. */
  readonly account: Account | null;
}

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

function placeAt(folder: string, cache: string, account: Account | null): Place {
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
