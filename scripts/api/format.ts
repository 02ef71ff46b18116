// Signatures in the format of the source: all of them in one call of the formatter.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const MARK = "// @@ next";

/** In the order given. */
export function formatted(signatures: readonly string[]): string[] {
  const input = signatures.map((one) => `${MARK}\ndeclare ${one}`).join("\n");
  const output = execFileSync(
    process.execPath,
    [join(ROOT, "node_modules/@biomejs/biome/bin/biome"), "format", "--stdin-file-path=signatures.d.ts"],
    { cwd: ROOT, input, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
  );
  const parts = output.split(`${MARK}\n`).slice(1);
  return parts.map((part) => part.trim().replace(/^declare /, ""));
}
