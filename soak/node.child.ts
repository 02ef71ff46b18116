// One node process of the soak: it works, and says how much it uses when it is asked.

import { setTimeout as pass } from "node:timers/promises";
import { createNode } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { PROGRAMS } from "./programs.js";
import { SETTINGS, type SoakChild, type Usage } from "./settings.js";

/** By the environment: arguments are readable by every user of the machine, and the URL has a password. */
const { url, name, retention, leak } = JSON.parse(process.env["HOLDFAST_SOAK_CHILD"]!) as SoakChild;

const store = postgres(url, { retention });
const node = await createNode({ store, programs: PROGRAMS, identity: { id: name }, ...SETTINGS, signals: false });
const kept: unknown[] = [];
// The planted leak: something of every run stays.
if (leak) node.on("run.settled", () => kept.push(Array.from({ length: 20_000 }, (_, i) => i)));

process.on("message", async (message) => {
  if (message === "stop") {
    await node.stop({ grace: "5s" });
    await store.close();
    process.exit(0);
  }
  await pass(10);
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().length;
  process.send!({ heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20, handles } satisfies Usage);
});
process.on("disconnect", () => process.exit(0));
process.send!("ready");
