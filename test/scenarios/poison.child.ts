// A node process in which one program kills its process and another does honest work next to it.

import { setTimeout as pass } from "node:timers/promises";
import { createNode } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";
import { innocent, poison, type Way } from "./poison.js";

const { url, schema, way, ...options } = JSON.parse(process.argv[2]!) as { url: string; schema: string; way: Way };
process.on("disconnect", () => process.exit(0));
const ways = { kill: () => process.kill(process.pid, "SIGKILL"), memory: fillMemory };
const programs = [
  poison(() => void ways[way]()),
  innocent((ms) => pass(ms)),
  //
];
const node = await createNode({ store: postgres(url, { schema, queryTimeout: "2s" }), programs, ...options });
node.on("run.reclaimed", ({ runId, outcome, crashes }) => process.send?.({ runId, outcome, crashes }));
process.send?.("ready");

function fillMemory(): void {
  const kept: unknown[] = [];
  for (;;) kept.push(new Array(100_000).fill(kept.length));
}
