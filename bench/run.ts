// `npm run bench -- NAME… [--peers] [--quick] [--json]`: measures on an embedded PostgreSQL, or on HOLDFAST_BENCH_DATABASE_URL.

import pg from "pg";
import { type Command, readCommand } from "./grammar.js";
import { LIBRARIES, type LibraryName } from "./library/load.js";
import { PARTS } from "./parts.js";
import type { WorkReport } from "./report/figure.js";
import { situation, writeResults } from "./report/results.js";
import { linesOf } from "./report/table.js";
import { type Server, startServer } from "./server.js";
import { type Scale, SideBySide } from "./side-by-side.js";
import { WORKS } from "./workload/all.js";

const FULL: Scale = { name: "full", rounds: 9, factor: 1 };
const QUICK: Scale = { name: "quick", rounds: 3, factor: 0.25 };
const TINY: Scale = { name: "tiny", rounds: 1, factor: 0.003 };

const command = readCommand(process.argv.slice(2), [...WORKS.keys()], [...PARTS.keys()]);
if (typeof command === "string") {
  console.error(command);
  process.exitCode = 2;
} else {
  const server = await startServer();
  try {
    process.exitCode = (await run(command, server)) ? 0 : 1;
  } finally {
    await server.stop();
  }
}

async function run(asked: Command, server: Server): Promise<boolean> {
  const say = asked.json ? (line: string) => console.error(line) : (line: string) => console.log(line);
  const works = asked.names.filter((name) => WORKS.has(name));
  const reports = await runWorks(asked, works, server, say);
  const parts: Record<string, { readonly ok: boolean }> = {};
  for (const name of asked.names.filter((one) => PARTS.has(one))) {
    const { quick, tiny, only } = asked;
    parts[name] = await PARTS.get(name)!(server.url, { quick, tiny, only, server, say });
  }
  const ok =
    reports.every(({ gates }) => gates.every(({ holds }) => holds)) && Object.values(parts).every((one) => one.ok);
  if (asked.json) console.log(JSON.stringify(asJson(ok, reports, parts)));
  else console.log(ok ? "all hold" : "NOT all hold");
  return ok;
}

async function runWorks(
  { peers, quick, tiny }: Command,
  names: readonly string[],
  server: Server,
  say: (line: string) => void,
): Promise<WorkReport[]> {
  if (names.length === 0) return [];
  const scale = tiny ? TINY : quick ? QUICK : FULL;
  const libraries: readonly LibraryName[] = peers ? LIBRARIES : ["holdfast", "sql"];
  const pool = new pg.Pool({ connectionString: server.url, max: 30 }).on("error", () => {});
  const bench = new SideBySide({ server, pool, scale, libraries, say });
  const reports: WorkReport[] = [];
  try {
    for (const name of names) {
      const { title, run: measure } = WORKS.get(name)!;
      const report = { work: name, title, ...(await measure(bench)) };
      reports.push(report);
      for (const line of linesOf(report)) say(line);
      // Figures of a small scale are no results.
      if (peers && scale === FULL) writeResults(report, await situation(pool, libraries));
      if (!tiny) await bench.endHosts();
    }
  } finally {
    await bench.end();
    await pool.end();
  }
  return reports;
}

/** A single part's report stays as it was before there were several names. */
function asJson(ok: boolean, reports: readonly WorkReport[], parts: Record<string, { readonly ok: boolean }>) {
  const [only, ...more] = Object.values(parts);
  if (only && more.length === 0 && reports.length === 0) return only;
  const named = <Item extends { readonly name: string }>(pick: (report: WorkReport) => readonly Item[]) =>
    reports.flatMap((report) => pick(report).map((item) => ({ work: report.work, ...item })));
  return {
    ok,
    ratios: named(({ ratios }) => ratios),
    figures: named(({ figures }) => figures),
    gates: named(({ gates }) => gates),
    ...(only && { parts }),
  };
}
