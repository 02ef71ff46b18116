// A node process in which one program kills its process and another does honest work next to it.

import { setTimeout as pass } from "node:timers/promises";
import { createNode } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";
import { innocent, poison } from "./poison.js";

const { url, schema, ...options } = JSON.parse(process.argv[2]!) as { url: string; schema: string };
process.on("disconnect", () => process.exit(0));
const programs = [
  poison(() => process.kill(process.pid, "SIGKILL")),
  innocent((ms) => pass(ms)),
  //
];
const node = await createNode({ store: postgres(url, { schema, queryTimeout: "2s" }), programs, ...options });
node.on("run.reclaimed", ({ runId, outcome, crashes }) => process.send?.({ runId, outcome, crashes }));
process.send?.("ready");
