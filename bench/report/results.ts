// Keeps the figures of full runs in bench/results.json and writes the section of bench/RESULTS.md and the charts from them.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { type LibraryName, loadLibrary, versionOf } from "../library/load.js";
import { serverSettings } from "../server.js";
import { chartOf } from "./chart.js";
import type { WorkReport } from "./figure.js";
import { calibrated, comparison, gateLine, namesOf, ranked, shown, spread } from "./table.js";

const BENCH = join(process.cwd(), "bench");
const BEGIN = "<!-- side by side: written by npm run bench -- NAME… --peers -->";
const END = "<!-- end of side by side -->";

/** Under which circumstances a report was made. */
export interface Situation {
  readonly commit: string;
  readonly at: string;
  readonly machine: string;
  readonly node: string;
  readonly postgres: Readonly<Record<string, string>>;
  readonly libraries: readonly { readonly name: string; readonly version: string; readonly settings: string }[];
}

export interface Kept extends WorkReport {
  readonly situation: Situation;
}

export async function situation(pool: pg.Pool, names: readonly LibraryName[]): Promise<Situation> {
  const libraries = await Promise.all(names.map((name) => loadLibrary(name)));
  return {
    commit: execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8" }).trim(),
    at: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 1e9)} GB, ${platform()} ${release()}`,
    node: process.version,
    postgres: await serverSettings(pool),
    libraries: libraries.map((one) => ({ name: one.name, version: versionOf(one), settings: one.settings })),
  };
}

/** Called after each work; the reports of the others stay. */
export function writeResults(report: WorkReport, situationNow: Situation, folder = BENCH): void {
  const [file, pageFile] = [join(folder, "results.json"), join(folder, "RESULTS.md")];
  const before: Record<string, Kept> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const kept = { ...before, [report.work]: { ...report, situation: situationNow } };
  writeFileSync(file, `${JSON.stringify(kept, null, 1)}\n`);
  const ordered = Object.values(kept).sort((a, b) => Number(a.work.slice(1)) - Number(b.work.slice(1)));
  mkdirSync(join(folder, "charts"), { recursive: true });
  for (const one of ordered) writeFileSync(join(folder, "charts", `${one.work}.svg`), chartOf(one));
  const page = readFileSync(pageFile, "utf8");
  const [head, rest] = page.split(BEGIN) as [string, string];
  writeFileSync(pageFile, `${head}${BEGIN}\n\n${sectionOf(ordered)}\n${END}${rest.split(END)[1]}`);
}

export function sectionOf(reports: readonly Kept[]): string {
  const [latest] = [...reports].sort((a, b) => b.situation.at.localeCompare(a.situation.at));
  return [...(latest ? circumstances(latest.situation) : []), ...reports.flatMap(workSection)].join("\n");
}

function circumstances({ machine, node, postgres, libraries }: Situation): string[] {
  return [
    `**Machine**: ${machine}; Node ${node}.`,
    "",
    "| PostgreSQL | |",
    "|---|---|",
    ...Object.entries(postgres).map(([name, value]) => `| \`${name}\` | ${value} |`),
    "",
    "| library | version | settings |",
    "|---|---|---|",
    ...libraries.map(({ name, version, settings }) => `| ${name} | ${version || "–"} | ${settings} |`),
    "",
  ];
}

function workSection(report: Kept): string[] {
  const { work, title, figures, ratios, gates, notes, oneRowCommits, situation: made } = report;
  const commits = oneRowCommits === undefined ? "" : `; ${shown(oneRowCommits)} one-row commits/s`;
  const rows = namesOf(figures).flatMap((name) =>
    ranked(figures, name).map((figure) => {
      const ratio = ratios.find((one) => one.name === name && one.against === figure.library);
      return `| ${name} | ${figure.library} | ${shown(figure.median)} ${figure.unit}${spread(figure)} | ${comparison(ratio)} |`;
    }),
  );
  return [
    `### ${work.toUpperCase()}: ${title}`,
    "",
    `Commit ${made.commit}, ${made.at}${commits}.`,
    "",
    "| figure | library | median (spread) | |",
    "|---|---|---|---|",
    ...rows,
    "",
    ...namesOf(figures).flatMap((name) => {
      const inCommits = calibrated(ratios, name);
      return inCommits ? [`- ${name}: ${inCommits}`] : [];
    }),
    ...gates.map((gate) => `- ${gateLine(gate)}`),
    ...notes.map((note) => `- ${note}`),
    "",
    `![${title}](charts/${work}.svg)`,
    "",
  ];
}
