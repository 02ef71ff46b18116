// `holdfast doctor`: examines the database, the nodes and the queues, and says what to do.

import { examineServer, examineWork, type Finding } from "../../client/doctor.js";
import { type Call, defineCommand, type Report } from "../command.js";
import { connectToMigrate } from "../connect.js";
import { wrapped } from "../library/text.js";
import type { Colour, Paint } from "../text/paint.js";
import { visible } from "../text/visible.js";

const COLOURS: Readonly<Record<Finding["level"], Colour>> = { ok: "green", warning: "yellow", problem: "red" };

export const doctor = defineCommand({
  name: "doctor",
  takes: [],
  summary: "examine the database, the nodes and the queues, and say what to do",
  details:
    "Reads only. ok, warning or problem for each check: version, settings, pooler, clocks, schema, dead rows, old transactions,\n" +
    "lease against the measured round trip, silent nodes, runs that no node serves, and what this server can do.",
  options: {},
  run: examine,
});

async function examine({ database, env, paint, width }: Call): Promise<Report> {
  const store = await connectToMigrate(database);
  try {
    const server = await store.examine();
    const fits = server.schemaProblem === null;
    const nodes = fits ? await store.nodes.list({ env }) : [];
    const queues = fits ? await store.queues.list(env) : [];
    const leases = nodes.flatMap(({ alive, leaseMs }) => (alive && leaseMs !== null ? [leaseMs] : []));
    const findings = [...examineServer(server, leases), ...(fits ? examineWork(nodes, queues) : [])];
    const count = (level: Finding["level"]) => findings.filter((one) => one.level === level).length;
    const [problems, warnings] = [count("problem"), count("warning")];
    const worst = problems > 0 ? "problem" : warnings > 0 ? "warning" : "ok";
    const summary = `${findings.length} checks: ${counted(problems, "problem")}, ${counted(warnings, "warning")}.\n`;
    return { text: `${linesOf(findings, width, paint)}\n${summary}`, json: { worst, findings, server } };
  } finally {
    await store.close();
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function linesOf(findings: readonly Finding[], width: number, paint: Paint): string {
  const checks = Math.max(...findings.map(({ check }) => check.length));
  const indent = "problem".length + 2 + checks + 2;
  const under = (text: string) => wrapped(text, width - indent).replaceAll("\n", `\n${" ".repeat(indent)}`);
  return findings
    .map(({ check, level, text, remedy }) => {
      const what = remedy === null ? "" : `\n${" ".repeat(indent)}${under(`→ ${remedy}`)}`;
      return `${paint(level.padEnd("problem".length), COLOURS[level])}  ${check.padEnd(checks)}  ${under(visible(text))}${what}\n`;
    })
    .join("");
}
