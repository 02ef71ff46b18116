// Makes the binaries usable for the server's account, without writing into node_modules.

import { constants, existsSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, readlink, rename, rm, symlink } from "node:fs/promises";
import { basename, delimiter, join, relative } from "node:path";
import { EmbeddedFailed } from "./error.js";
import type { Binaries } from "./find-binaries.js";
import { makeRefuge, type Place } from "./place.js";
import { baseEnv, runProgram } from "./run-program.js";

export interface UsableBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly env: Record<string, string>;
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

export async function usableBinaries(found: Binaries, place: Place, token: string): Promise<UsableBinaries> {
  const links = await missingLinks(found.native);
  // initdb starts postgres through /bin/sh, where macOS strips DYLD_LIBRARY_PATH: links in another folder would not be
  // found.
  if (links.length === 0 || process.platform !== "darwin") {
    if (links.length > 0) await makeLinks(links, found.native, place.lib);
    const libraries = [...(links.length > 0 ? [place.lib] : []), join(found.native, "lib")];
    const inPlace = { ...found, env: libraryEnv(libraries) };
    if ((await probe(inPlace, place)).code === 0) return inPlace;
  }
  const native = await copyNative(found, place, token);
  const moved = (path: string) => join(native, relative(found.native, path));
  const copied = {
    postgres: moved(found.postgres),
    initdb: moved(found.initdb),
    env: libraryEnv([join(native, "lib")]),
  };
  const outcome = await probe(copied, place);
  if (outcome.code === 0) return copied;
  throw new EmbeddedFailed(`${found.postgres} does not run on this machine: ${outcome.output.trim()}`);
}

/** The only reliable test: folders, modes, libraries and the loader all matter. */
function probe(binaries: UsableBinaries, place: Place) {
  return runProgram(binaries.postgres, ["--version"], { account: place.account, cwd: "/", env: binaries.env });
}

/** npm packages cannot contain links; the package's install script creates them, if install scripts run. */
async function missingLinks(native: string): Promise<LibraryLink[]> {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return [];
  const links = JSON.parse(await readFile(list, "utf8")) as LibraryLink[];
  return links.filter((link) => !existsSync(join(native, "lib", basename(link.target))));
}

async function makeLinks(links: LibraryLink[], native: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  for (const { source, target } of links) {
    const from = join(folder, basename(target));
    const to = join(native, "lib", basename(source));
    if ((await readlink(from).catch(() => null)) === to) continue;
    await rm(from, { force: true });
    await symlink(to, from);
  }
}

async function copyNative(found: Binaries, place: Place, token: string): Promise<string> {
  const native = join(place.cache, `postgres-${found.version}`);
  if (existsSync(native)) return native;
  if (place.account !== null) await makeRefuge(place.cache);
  const draft = `${native}.${token}`;
  await cp(found.native, draft, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => !path.endsWith(".a"),
  });
  await openToAll(draft);
  for (const { source, target } of await missingLinks(draft)) {
    await symlink(basename(source), join(draft, "lib", basename(target)));
  }
  try {
    await rename(draft, native);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(native)) throw error;
  }
  return native;
}

/** Installed under a strict umask, or by a package manager that drops modes, the files are readable only by root. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const runs = entry.isDirectory() || basename(entry.parentPath) === "bin";
    await chmod(join(entry.parentPath, entry.name), runs ? 0o755 : 0o644);
  }
}

function libraryEnv(folders: string[]): Record<string, string> {
  const value = folders.join(delimiter);
  const name = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  return process.platform === "win32" ? baseEnv() : { ...baseEnv(), [name]: value };
}
