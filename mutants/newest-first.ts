// Orders mutants by what changed last: a protection is lost where code or tests were edited, and that shows at once.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Mutant } from "./mutant.js";

const ROOT = join(import.meta.dirname, "..");

/** As they are given when the project is no Git repository. */
export async function newestFirst(mutants: readonly Mutant[]): Promise<Mutant[]> {
  const changedAt = await lastChanges().catch(() => new Map<string, number>());
  const newest = ({ edits, killedBy }: Mutant) => {
    const files = [...edits, ...killedBy].flatMap((one) => ("file" in one ? one.file : []));
    return Math.max(...files.map((file) => changedAt.get(file) ?? 0));
  };
  return [...mutants].sort((a, b) => newest(b) - newest(a));
}

/** By file, in seconds since 1970; a file with changes that are not committed is newer than every commit. */
async function lastChanges(): Promise<ReadonlyMap<string, number>> {
  const git = async (...words: string[]) =>
    (await promisify(execFile)("git", words, { cwd: ROOT, maxBuffer: 1 << 26 })).stdout.split("\n");
  const changedAt = new Map<string, number>();
  for (const file of await git("ls-files", "--modified", "--others", "--exclude-standard")) {
    changedAt.set(file, Number.POSITIVE_INFINITY);
  }
  let at = 0;
  for (const line of await git("log", "--name-only", "--format=%ct")) {
    if (/^\d+$/.test(line)) at = Number(line);
    else if (!changedAt.has(line)) changedAt.set(line, at);
  }
  return changedAt;
}
