// `npm run faults [-- --only F22,F36] [--list] [--write] [--json]`: runs the tests of the matrix of faults, with its real numbers, and
// prints what holds. `--list` prints the table only; `--write` writes its part of docs/faults.md.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAULTS, type Fault, matches, namedBy } from "../test/faults/matrix.js";
import { pageWith } from "../test/faults/page.js";
import { flagsOf } from "./flags.js";

type Verdict = "holds" | "fails" | "not run" | "no test";

interface Ran {
  readonly file: string;
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped" | "pending" | "todo";
}

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/faults.md");
const flags = flagsOf({ only: "text", list: "switch", write: "switch" });
const { json } = flags;
const say = (line: string) => (json ? console.error(line) : console.log(line));
const only = flags.only?.split(",") ?? null;
const chosen = FAULTS.filter(({ id }) => only === null || only.includes(id));

/** One run for all files: each would start a server of its own. */
async function run(faults: readonly Fault[]): Promise<readonly Ran[]> {
  const wanted = faults.flatMap(({ tests }) => tests.map(namedBy));
  const files = [...new Set(wanted.map(({ file }) => file))];
  const texts = wanted.map(({ text }) => text);
  const names = texts.every((text) => text !== undefined) ? ["-t", texts.map(literally).join("|")] : [];
  const folder = mkdtempSync(join(tmpdir(), "holdfast-faults-"));
  const output = join(folder, "report.json");
  const args = ["run", ...files, ...names, "--reporter=default", "--reporter=json", `--outputFile.json=${output}`];
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...args], {
    cwd: ROOT,
    env: { ...process.env, HOLDFAST_FAULTS: "whole" },
    stdio: ["ignore", json ? 2 : "inherit", "inherit"],
  });
  await new Promise((resolve) => child.on("close", resolve));
  try {
    return read(output);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function literally(text: string): string {
  const begins = text.startsWith("^");
  return `${begins ? "^" : ""}${text.slice(begins ? 1 : 0).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`;
}

function read(output: string): readonly Ran[] {
  const report = JSON.parse(readFileSync(output, "utf8")) as {
    testResults: { name: string; assertionResults: { fullName: string; status: Ran["status"] }[] }[];
  };
  return report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ file: name, name: fullName, status })),
  );
}

function judge({ tests }: Fault, ran: readonly Ran[]): Verdict {
  if (tests.length === 0) return "no test";
  const states = tests.map(namedBy).map(({ file, text }): Verdict => {
    const found = ran.filter((one) => one.file.endsWith(`/${file}`) && matches(one.name, text));
    if (found.some(({ status }) => status === "failed")) return "fails";
    return found.some(({ status }) => status === "passed") ? "holds" : "not run";
  });
  return states.find((state) => state === "fails") ?? states.find((state) => state === "not run") ?? "holds";
}

function print(faults: readonly { readonly fault: Fault; readonly verdict?: Verdict }[]): void {
  for (const { fault, verdict = "" } of faults) {
    say(`${fault.id}  ${verdict.padEnd(8)} ${fault.fault.replaceAll("`", "")}`);
    say(`${" ".repeat(14)}${fault.holds.replaceAll("`", "")}`);
    for (const test of fault.tests) say(`${" ".repeat(14)}${test.replace(": ^", ": ")}`);
    if (fault.whyNot !== undefined) say(`${" ".repeat(14)}no test: ${fault.whyNot}`);
  }
}

async function main(): Promise<boolean> {
  if (flags.write) {
    writeFileSync(PAGE, pageWith(readFileSync(PAGE, "utf8")));
    return true;
  }
  if (chosen.length === 0) {
    const problem = `no such fault: ${only?.join(", ")}; there are F01 to ${FAULTS.at(-1)!.id}`;
    say(problem);
    if (json) console.log(JSON.stringify({ ok: false, problem }));
    return false;
  }
  if (flags.list) {
    print(chosen.map((fault) => ({ fault })));
    if (json) console.log(JSON.stringify({ ok: true, faults: chosen }));
    return true;
  }
  const ran = await run(chosen);
  const judged = chosen.map((fault) => ({ fault, verdict: judge(fault, ran) }));
  print(judged);
  const ok = judged.every(({ verdict }) => verdict === "holds" || verdict === "no test");
  const count = (wanted: Verdict) => judged.filter(({ verdict }) => verdict === wanted).length;
  const counts = { holds: count("holds"), fails: count("fails"), notRun: count("not run"), noTest: count("no test") };
  say(`${counts.holds} hold, ${counts.fails} fail, ${counts.notRun} not run, ${counts.noTest} without a test`);
  const faults = judged.map(({ fault, verdict }) => ({ ...fault, verdict }));
  if (json) console.log(JSON.stringify({ ok, ...counts, faults }));
  return ok;
}

process.exitCode = (await main()) ? 0 : 1;
