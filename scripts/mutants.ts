// `npm run mutants [-- --only TEXT|TEXT] [--json]`: plants each bug on a copy, runs its killers, and requires that one fails.

import { spawn } from "node:child_process";
import { MUTANTS } from "../mutants/index.js";
import { invariantOf } from "../mutants/invariant.js";
import type { Killer, Mutant } from "../mutants/mutant.js";
import { newestFirst } from "../mutants/newest-first.js";
import { Copy } from "../mutants/plant.js";
import { startEmbedded } from "../src/embedded/index.js";
import { flagsOf } from "./flags.js";

/** One per core of the machines this runs on. */
const AT_A_TIME = 2;
const SHOWN_CHARS = 4_000;
const { json, only = "" } = flagsOf({ only: "text" });

type Verdict = "killed" | "survived" | "does not apply" | "tests fail without it";

/** Whether it passes; `onFailure` gets the end of what it printed. */
function passes(
  folder: string,
  args: readonly string[],
  url: string,
  onFailure: (output: string) => void = () => {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, HOLDFAST_TEST_DATABASE_URL: url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output = (output + String(chunk)).slice(-SHOWN_CHARS);
      });
    }
    child.on("close", (code) => {
      if (code !== 0) onFailure(output);
      resolve(code === 0);
    });
  });
}

const VITEST = ["node_modules/vitest/vitest.mjs", "run", "--bail", "1"];
const SIMULATE = ["--import", "tsx", "scripts/simulate.ts", "--bail"];

/** The runner reads a name as a pattern: `state()` would match no test, and its mutant survive. A bar separates two names. */
function literally(names: string): string {
  return names.replace(/[.*+?^${}()[\]\\]/g, "\\$&");
}

function argumentsOf(killer: Killer): string[] {
  if ("file" in killer)
    return [...VITEST, killer.file, ...(killer.test === undefined ? [] : ["-t", literally(killer.test)])];
  return [...SIMULATE, "--seed", String(killer.from ?? 1), "--seeds", String(killer.seeds)];
}

async function judge(mutant: Mutant, copy: Copy, url: string): Promise<Verdict> {
  const restore = await copy.plant(mutant);
  if (restore === null) return "does not apply";
  try {
    for (const killer of mutant.killedBy) if (!(await passes(copy.folder, argumentsOf(killer), url))) return "killed";
    return "survived";
  } finally {
    await restore();
  }
}

/** A test that fails without a mutant would "kill" every mutant. One file at a time: the other lane judges mutants meanwhile. */
async function isSound(chosen: readonly Mutant[], copy: Copy, url: string): Promise<boolean> {
  const killers = chosen.flatMap(({ killedBy }) => killedBy);
  const suites = killers.flatMap((killer) => ("file" in killer ? killer : []));
  const whole = suites.filter(({ test }) => test === undefined);
  const picked = suites.filter(({ test }) => test !== undefined);
  const names = [...new Set(picked.map(({ test }) => literally(test!)))].join("|");
  const files = (some: typeof suites) => [...new Set(some.map(({ file }) => file))];
  const seeds = Math.max(
    0,
    ...killers.map((killer) => ("seeds" in killer ? (killer.from ?? 1) + killer.seeds - 1 : 0)),
  );
  const inOrder = [...VITEST, "--no-file-parallelism"];
  const check = (args: readonly string[]) => passes(copy.folder, args, url, say);
  const sound =
    (whole.length === 0 || (await check([...inOrder, ...files(whole)]))) &&
    (picked.length === 0 || (await check([...inOrder, ...files(picked), "-t", names]))) &&
    (seeds === 0 || (await check(argumentsOf({ seeds }))));
  say(sound ? "the tests pass without any mutant" : "That fails without any mutant.");
  return sound;
}

const say = (line: string) => (json ? console.error(line) : console.log(line));
const server = await startEmbedded({
  temporary: true,
  settings: { max_connections: "400" },
  onNotice: () => {},
});
const chosen = await newestFirst(MUTANTS.filter(({ name }) => only.split("|").some((text) => name.includes(text))));
const left = [...chosen];
let survivors: { name: string; verdict: Verdict }[] = [];

async function judgeWhatIsLeft(copy: Copy): Promise<void> {
  for (let mutant = left.shift(); mutant; mutant = left.shift()) {
    const startedAt = performance.now();
    const verdict = await judge(mutant, copy, server.url);
    if (verdict !== "killed") survivors.push({ name: mutant.name, verdict });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const shown = verdict === "killed" ? "killed  " : `${verdict.toUpperCase()}:`;
    const invariant = invariantOf(mutant.breaks);
    const promise =
      invariant === mutant.breaks ? invariant : `${invariant}: ${mutant.breaks.replace(/^[SL]\d+: /, "")}`;
    say(`${shown} ${mutant.name} (${promise}, ${seconds} s)`);
  }
}

const copies = await Promise.all(Array.from({ length: AT_A_TIME }, () => Copy.make()));
try {
  const lanes = copies.map(async (copy, i) => {
    if (i === 0 && !(await isSound(chosen, copy, server.url))) {
      left.length = 0;
      return false;
    }
    await judgeWhatIsLeft(copy);
    return true;
  });
  if ((await Promise.all(lanes)).includes(false)) {
    survivors = chosen.map(({ name }) => ({ name, verdict: "tests fail without it" }));
  }
} finally {
  await Promise.all(copies.map((copy) => copy.remove()));
  await server.stop();
}
const killed = chosen.length - survivors.length;
const ok = survivors.length === 0 && chosen.length > 0;
if (json) console.log(JSON.stringify({ ok, mutants: chosen.length, killed, survivors }));
else console.log(`${killed} of ${chosen.length} mutants killed`);
process.exitCode = ok ? 0 : 1;
