// Emits the declarations of the package into a folder of their own, as the build does, without comparing types again.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");

export interface Emitted extends AsyncDisposable {
  readonly folder: string;
}

export async function emitDeclarations(): Promise<Emitted> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-api-"));
  const flags = ["--emitDeclarationOnly", "--noCheck", "--outDir", folder];
  await promisify(execFile)(
    process.execPath,
    [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json", ...flags],
    {
      cwd: ROOT,
    },
  );
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
