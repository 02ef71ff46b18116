// `npm run chaos -- --seconds N --nodes 5 [--seed S] [--calm] [--faults a,b] [--mutant unfenced] [--json]`: real processes
// under real faults. Faults come in a seeded order, but the processes race, so a seed repeats the faults
// and not the history. With --mutant the bug is planted on a copy, and the copy's own chaos run is reported.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { FAULTS, type Fault } from "../chaos/nemesis.js";
import { chaos } from "../chaos/run.js";
import { MUTANTS } from "../mutants/index.js";
import { Copy } from "../mutants/plant.js";
import { flagsOf } from "./flags.js";

const flags = flagsOf({
  seconds: "number",
  nodes: "number",
  seed: "number",
  faults: "text",
  mutant: "text",
  calm: "switch",
  discard: "switch",
});
const { json } = flags;
const startedAt = performance.now();
const say = (line: string) => {
  const text = `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}`;
  if (json) console.error(text);
  else console.log(text);
};

async function onACopy(name: string): Promise<number> {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant) throw new Error(`no mutant ${name}; there are: ${MUTANTS.map((one) => one.name).join(", ")}`);
  const copy = await Copy.make();
  const rest = process.argv.slice(2).filter((word) => word !== "--mutant" && word !== name);
  try {
    if ((await copy.plant(mutant)) === null) throw new Error(`the mutant ${name} does not apply`);
    const script = join(copy.folder, "scripts", "chaos.ts");
    const child = spawn(process.execPath, ["--import", "tsx", script, "--discard", ...rest], {
      cwd: copy.folder,
      stdio: "inherit",
    });
    return await new Promise((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
  } finally {
    await copy.remove();
  }
}

async function here(): Promise<number> {
  const faults = flags.faults?.split(",") as Fault[] | undefined;
  const unknown = faults?.find((fault) => !FAULTS.includes(fault));
  if (unknown !== undefined) throw new Error(`no fault ${unknown}; there are: ${FAULTS.join(", ")}`);
  const report = await chaos({
    seconds: flags.seconds ?? 60,
    nodes: flags.nodes ?? 5,
    seed: flags.seed ?? Math.floor(Math.random() * 1e9),
    calm: flags.calm,
    keep: !flags.discard,
    ...(faults && { faults }),
    say,
  });
  if (json) console.log(JSON.stringify(report));
  else console.log(report);
  return report.ok ? 0 : 1;
}

process.exitCode = flags.mutant === undefined ? await here() : await onACopy(flags.mutant);
