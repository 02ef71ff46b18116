// Finds programs some suites need. A missing one is reported, and is an error where HOLDFAST_REQUIRE names it.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "vitest";

export type Program = "pgbouncer" | "faketime" | "browser";

const FILE_NAMES: Record<Program, string[]> = {
  pgbouncer: ["pgbouncer"],
  faketime: ["faketime"],
  browser: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"],
};

/** The program's path; null when it is not installed and HOLDFAST_REQUIRE (a comma list) does not ask for it. */
export function needs(program: Program): string | null {
  const found = find(program);
  const required = (process.env["HOLDFAST_REQUIRE"] ?? "").split(",").map((name) => name.trim());
  if (found === null && required.includes(program)) {
    throw new TypeError(`${program} is not installed, and HOLDFAST_REQUIRE asks for it`);
  }
  return found;
}

/** A suite that needs a program. Without it the suite is one skipped entry in the report. */
export function describeWith(program: Program, name: string, body: (path: string) => void): void {
  const path = needs(program);
  describe(name, () => {
    if (path !== null) body(path);
    else test.runIf(false)(`needs ${program}: not installed, not run`, () => {});
  });
}

function find(program: Program): string | null {
  const given = process.env[`HOLDFAST_${program.toUpperCase()}`];
  if (given !== undefined && isProgram(given)) return given;
  // Debian keeps servers in /usr/sbin, which an ordinary user's PATH leaves out.
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  const paths = FILE_NAMES[program].flatMap((file) => folders.map((folder) => join(folder, file)));
  return paths.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
