// Records who started the server of a folder, and on which port.

import { readFile, rename, writeFile } from "node:fs/promises";
import type { World } from "../kernel/world.js";
import { lifeOf, type ProcessLife } from "./process-life.js";

export interface Owner {
  readonly starter: ProcessLife;
  /** The server outlives its starter. */
  readonly detached: boolean;
  /** Used again at the next start if it is free, so that URLs held by other processes work again. */
  readonly port: number;
}

export async function readOwner(path: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch (error) {
    // A power failure leaves a partial file; there is no starter then either.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return null;
    throw error;
  }
}

export async function writeOwner(world: World, path: string, owner: Omit<Owner, "starter">): Promise<void> {
  const starter = lifeOf(process.pid) ?? { pid: process.pid, birth: "unknown" };
  const draft = `${path}.${world.token()}`;
  await writeFile(draft, JSON.stringify({ starter, ...owner }), { mode: 0o644 });
  await rename(draft, path);
}
