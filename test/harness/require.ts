// Finds programs, and the right to mount, that some suites need. A missing one is reported, and is an error where HOLDFAST_REQUIRE names it.

import { execFileSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, test } from "vitest";

export type Program = "pgbouncer" | "faketime" | "browser" | "zsh" | "fish";
/** The right to mount a small disk of memory. */
export type Needed = Program | "root";

const FILE_NAMES: Record<Program, string[]> = {
  pgbouncer: ["pgbouncer"],
  faketime: ["faketime"],
  zsh: ["zsh"],
  fish: ["fish"],
  browser: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"],
};

/** Its path; null when it is not there and HOLDFAST_REQUIRE (a comma list) does not ask for it. */
export function needs(program: Needed): string | null {
  const found = program === "root" ? mounts() : find(program);
  const required = (process.env["HOLDFAST_REQUIRE"] ?? "").split(",").map((name) => name.trim());
  if (found === null && required.includes(program)) {
    throw new TypeError(`${program} is missing, and HOLDFAST_REQUIRE asks for it`);
  }
  return found;
}

/** A suite that needs a program or a right. Without it the suite is one skipped entry in the report. */
export function describeWith(program: Needed, name: string, body: (path: string) => void): void {
  const path = needs(program);
  describe(name, () => {
    if (path !== null) body(path);
    else test.runIf(false)(`needs ${program}: not there, not run`, () => {});
  });
}

/** A container's root may lack the right: whether it works is found by trying. */
function mounts(): string | null {
  if (process.getuid?.() !== 0) return null;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder], { stdio: "ignore" });
    return "mount";
  } catch {
    return null;
  } finally {
    rmdirSync(folder);
  }
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
