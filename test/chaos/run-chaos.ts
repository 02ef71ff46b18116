// Runs `npm run chaos` as a person would, and returns its report.

import { spawn } from "node:child_process";
import { join } from "node:path";
import type { ChaosReport } from "../../chaos/run.js";

const ROOT = join(import.meta.dirname, "..", "..");

/** `log` lists every fault with its time, to explain a failure. */
export async function runChaos(...args: string[]): Promise<{ report: ChaosReport; code: number; log: string }> {
  const script = join(ROOT, "scripts", "chaos.ts");
  const child = spawn(process.execPath, ["--import", "tsx", script, "--json", ...args], { cwd: ROOT });
  let out = "";
  let log = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  const code = await new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? -1)));
  const last = out.trim().split("\n").at(-1) ?? "";
  if (!last.startsWith("{")) throw new Error(`the chaos run ended with ${code} and no report:\n${log}`);
  return { report: JSON.parse(last) as ChaosReport, code, log };
}
