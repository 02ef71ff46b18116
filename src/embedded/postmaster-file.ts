// Reads PostgreSQL's own postmaster.pid: which process serves a data folder, on which port, in which state.

import { readdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { lifeOf, type ProcessLife, worksIn } from "./process-life.js";

export interface Postmaster {
  readonly life: ProcessLife;
  readonly port: number;
  readonly status: "starting" | "stopping" | "ready" | "standby" | "";
}

/** Null when no process serves the folder: no file, a dead process, or a pid that now belongs to another process. */
export async function readPostmaster(data: string): Promise<Postmaster | null> {
  const lines = await readLines(data);
  if (lines === null) return null;
  const life = lifeOf(Number(lines[0]));
  if (life === null || worksIn(life.pid, data) === false) return null;
  return { life, port: Number(lines[3]), status: (lines[7] ?? "").trim() as Postmaster["status"] };
}

/**
 * After a crash the pid in the file may belong to another process of ours, and PostgreSQL would refuse to start. If the
 * pid is dead the file stays: PostgreSQL itself then looks for leftover backends, and removes it.
 */
export async function removeForeignPostmasterFile(data: string): Promise<void> {
  const lines = await readLines(data);
  if (lines === null || process.platform !== "linux") return;
  const pid = Number(lines[0]);
  // PostgreSQL refuses an empty file (a power failure) as well.
  const refused = !(pid > 0) || (lifeOf(pid) !== null && worksIn(pid, data) === false);
  if (!refused || anyoneWorksIn(data)) return;
  await rm(join(data, "postmaster.pid"), { force: true });
}

function anyoneWorksIn(data: string): boolean {
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && worksIn(Number(name), data) === true);
}

async function readLines(data: string): Promise<string[] | null> {
  try {
    return (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
