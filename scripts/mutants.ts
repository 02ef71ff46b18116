// `npm run mutants [-- --only TEXT] [--json]`: plants each bug on a copy, runs its tests, and demands that they fail.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MUTANTS } from "../mutants/index.js";
import type { Mutant } from "../mutants/mutant.js";
import { plant } from "../mutants/plant.js";
import { startEmbedded } from "../src/embedded/index.js";

const json = process.argv.includes("--json");
const onlyAt = process.argv.indexOf("--only");
const only = onlyAt === -1 ? "" : (process.argv[onlyAt + 1] ?? "");

type Verdict = "killed" | "survived" | "does not apply" | "tests fail without it";

function testsPass(folder: string, files: readonly string[], url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "--bail", "1", ...files], {
      cwd: folder,
      env: { ...process.env, HOLDFAST_TEST_DATABASE_URL: url },
      stdio: "ignore",
    });
    child.on("exit", (code) => resolve(code === 0));
  });
}

async function judge(mutant: Mutant, url: string): Promise<Verdict> {
  const folder = await plant(mutant);
  if (!folder) return "does not apply";
  try {
    return (await testsPass(folder, mutant.killedBy, url)) ? "survived" : "killed";
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const say = (line: string) => (json ? console.error(line) : console.log(line));
const dataDir = await mkdtemp(join(tmpdir(), "holdfast-mutants-"));
const server = await startEmbedded({
  dataDir: join(dataDir, "postgres"),
  settings: { max_connections: "400" },
  onNotice: () => {},
});
const chosen = MUTANTS.filter(({ name }) => name.includes(only));
const survivors: { name: string; verdict: Verdict }[] = [];
try {
  // A test that fails anyway would "kill" everything.
  const clean = await plant(null);
  const files = [...new Set(chosen.flatMap(({ killedBy }) => killedBy))];
  const sound = await testsPass(clean!, files, server.url);
  await rm(clean!, { recursive: true, force: true });
  if (!sound) say(`the tests fail without any mutant: ${files.join(" ")}`);
  for (const mutant of chosen) {
    const verdict = sound ? await judge(mutant, server.url) : "tests fail without it";
    if (verdict !== "killed") survivors.push({ name: mutant.name, verdict });
    say(`${verdict === "killed" ? "killed  " : `${verdict.toUpperCase()}:`} ${mutant.name} (${mutant.breaks})`);
  }
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
const killed = chosen.length - survivors.length;
const ok = survivors.length === 0 && chosen.length > 0;
if (json) console.log(JSON.stringify({ ok, mutants: chosen.length, killed, survivors }));
else console.log(`${killed} of ${chosen.length} mutants killed`);
process.exitCode = ok ? 0 : 1;
