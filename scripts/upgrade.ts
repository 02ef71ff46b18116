// `npm run upgrade -- --from COMMIT [--json]`: nodes of an older commit and of this code on one database. The old code fills it, the new
// code migrates it, both work side by side, each finishes what the other started, in both directions.

import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startEmbedded } from "../src/embedded/index.js";
import { MIGRATIONS } from "../src/store/postgres/migrations/index.js";

const ROOT = join(import.meta.dirname, "..");
const RUNNER = "scripts/upgrade-node.ts";
const RUNS = 40;
const json = process.argv.includes("--json");
const say = (line: string) => (json ? console.error(line) : console.log(line));
const fromAt = process.argv.indexOf("--from");
const from = fromAt === -1 ? undefined : process.argv[fromAt + 1];

interface Running {
  readonly process: ChildProcess;
  /** How many steps it has begun. */
  readonly steps: () => number;
  readonly start: (runs: number) => Promise<void>;
}

const running = new Set<ChildProcess>();

async function open(folder: string, url: string, name: string, starts: number): Promise<Running> {
  const child = fork(join(folder, RUNNER), [url, name, String(starts)], { cwd: folder, execArgv: ["--import", "tsx"] });
  running.add(child);
  let steps = 0;
  const heard = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      child.on("message", (message: { event: string }) => message.event === wanted && resolve());
      child.once("exit", (code) => reject(new TypeError(`${name} ended with ${code}`)));
    });
  child.on("message", ({ event }: { event: string }) => {
    if (event === "step") steps++;
  });
  await heard("ready");
  const start = async (runs: number) => {
    const started = heard("started");
    child.send({ start: runs });
    await started;
  };
  return { process: child, steps: () => steps, start };
}

async function kill({ process: child }: Running): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
  running.delete(child);
}

async function main(old: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-upgrade-"));
  const server = await startEmbedded({ temporary: true, onNotice: () => {} });
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  try {
    execFileSync("sh", ["-c", `git archive "${old}" | tar -x -C "${folder}"`], { cwd: ROOT });
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    cpSync(join(ROOT, RUNNER), join(folder, RUNNER));
    const states = async (): Promise<Record<string, number>> => {
      const { rows } = await pool.query("select state, count(*)::int as n from holdfast.runs group by 1");
      return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
    };
    const version = async () => (await pool.query("select max(version) as v from holdfast.migrations")).rows[0].v;
    const untilDone = async (runs: number) => {
      for (const until = Date.now() + 120_000; Date.now() < until; ) {
        if ((await states())["completed"] === 2 * runs) return;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      throw new TypeError(`not done: ${JSON.stringify(await states())}`);
    };

    const edited = execFileSync("git", ["diff", "--name-only", old, "--", "src/store/postgres/migrations/0*"], {
      cwd: ROOT,
    });
    const before = await open(folder, server.url, "old", RUNS);
    const [oldVersion, seen] = [await version(), before.steps()];
    if (oldVersion === MIGRATIONS.at(-1)!.version && edited.length > 0) {
      throw new TypeError(`Both have schema version ${oldVersion}, with different tables: take a later commit.`);
    }
    const beside = await open(ROOT, server.url, "new", RUNS);
    await untilDone(2 * RUNS);
    const together = { old: before.steps() - seen, new: beside.steps() };
    say(`side by side: ${2 * RUNS} runs done, ${together.old} steps by the old code, ${together.new} by the new`);

    await before.start(RUNS);
    await kill(before);
    await untilDone(3 * RUNS);
    say(`forward: ${RUNS} runs that the old code had begun are finished by the new`);

    const back = await open(folder, server.url, "old again", 0);
    await beside.start(RUNS);
    await kill(beside);
    await untilDone(4 * RUNS);
    say(`back: ${RUNS} runs that the new code had begun are finished by the old`);
    await kill(back);

    const ends = await states();
    const ok = together.old > 0 && together.new > 0 && Object.keys(ends).length === 1;
    const report = { ok, from: old, schemas: [oldVersion, await version()], ends, together };
    if (json) console.log(JSON.stringify(report));
    else say(ok ? "all work of both versions is done" : `not as expected: ${JSON.stringify(report)}`);
    return ok;
  } finally {
    for (const child of running) child.kill("SIGKILL");
    await pool.end();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function checked(old: string | undefined): Promise<boolean> {
  try {
    if (old === undefined) throw new TypeError("which commit? npm run upgrade -- --from COMMIT");
    return await main(old);
  } catch (error) {
    say((error as Error).message);
    if (json) console.log(JSON.stringify({ ok: false, problem: (error as Error).message }));
    return false;
  }
}

process.exitCode = (await checked(from)) ? 0 : 1;
