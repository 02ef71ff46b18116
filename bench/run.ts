// `npm run bench -- NAME [--quick] [--json]`: measures on an embedded PostgreSQL, or on HOLDFAST_BENCH_DATABASE_URL.

import { startEmbedded } from "../src/embedded/index.js";
import { benchActors } from "./actors.js";
import { benchDag } from "./dag.js";
import { benchGraph } from "./graph.js";
import { benchLane } from "./lane.js";
import { benchMachine } from "./machine.js";
import { benchRecovery } from "./recovery.js";
import { benchTakeover } from "./takeover.js";
import { benchTriggers } from "./triggers.js";
import { benchWorkflow } from "./workflow.js";

const BENCHES = {
  actors: benchActors,
  dag: benchDag,
  graph: benchGraph,
  lane: benchLane,
  machine: benchMachine,
  recovery: benchRecovery,
  takeover: benchTakeover,
  triggers: benchTriggers,
  workflow: benchWorkflow,
};

const [name] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const json = process.argv.includes("--json");
const quick = process.argv.includes("--quick");
/** Of a benchmark with several figures. */
const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);
const bench = name !== undefined && Object.hasOwn(BENCHES, name) ? BENCHES[name as keyof typeof BENCHES] : undefined;

if (!bench) {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join(" | ")} [--quick] [--json]`);
  process.exitCode = 2;
} else {
  const say = json ? (line: string) => console.error(line) : (line: string) => console.log(line);
  const server = await database();
  try {
    const report = await bench(server.url, { quick, say, only });
    if (json) console.log(JSON.stringify(report));
    else console.log(report.ok ? "all hold" : "NOT all hold");
    process.exitCode = report.ok ? 0 : 1;
  } finally {
    await server.stop();
  }
}

async function database(): Promise<{ url: string; stop: () => Promise<void> }> {
  const given = process.env["HOLDFAST_BENCH_DATABASE_URL"];
  if (given) return { url: given, stop: async () => {} };
  const server = await startEmbedded({
    temporary: true,
    settings: { max_wal_size: "4GB", shared_buffers: "512MB" },
    onNotice: () => {},
  });
  return { url: server.url, stop: () => server.stop() };
}
