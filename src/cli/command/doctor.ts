// `holdfast doctor`: examines the database, the nodes and the queues, and says what to do.

import { examineServer, examineWork, type Finding } from "../../client/doctor.js";
import type { Call, Command, Report } from "../command.js";
import { connectToMigrate } from "../connect.js";
import type { Colour } from "../text/paint.js";

const COLOURS: Readonly<Record<Finding["level"], Colour>> = { ok: "green", warning: "yellow", problem: "red" };

export const doctor: Command = {
  name: "doctor",
  takes: [],
  summary: "examine the database, the nodes and the queues; says what to do",
  details:
    "Reads only. ok, warning or problem for each check: version, settings, pooler, clocks, schema, dead rows, old transactions,\n" +
    "lease against the measured round trip, silent nodes, runs that no node serves, and what this server can do.",
  options: {},
  run: examine,
};

async function examine({ database, env, paint }: Call): Promise<Report> {
  const store = await connectToMigrate(database);
  try {
    const server = await store.examine();
    const fits = server.schemaProblem === null;
    const nodes = fits ? await store.nodes.list({ env }) : [];
    const queues = fits ? await store.queues.list(env) : [];
    const leases = nodes.flatMap(({ alive, leaseMs }) => (alive && leaseMs !== null ? [leaseMs] : []));
    const findings = [...examineServer(server, leases), ...(fits ? examineWork(nodes, queues) : [])];
    const lines = findings.map(({ check, level, text, remedy }) => {
      const what = remedy === null ? "" : `\n           → ${remedy}`;
      return `${paint(level.padEnd(8), COLOURS[level])} ${check}: ${text}${what}\n`;
    });
    const worst = findings.some(({ level }) => level === "problem")
      ? "problem"
      : findings.some(({ level }) => level === "warning")
        ? "warning"
        : "ok";
    return { text: lines.join(""), json: { worst, findings, server } };
  } finally {
    await store.close();
  }
}
