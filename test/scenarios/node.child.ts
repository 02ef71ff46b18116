// A node process of the scenarios: tells its parent what its steps do and what becomes of its claims.

import { randomUUID } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { createNode, type NodeOptions } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";
import { type Effect, taskWith } from "./task.js";

interface Wish extends Partial<Omit<NodeOptions, "store" | "programs">> {
  readonly url: string;
  readonly schema: string;
}

const { url, schema, ...options } = JSON.parse(process.argv[2]!) as Wish;
const tell = (event: string, detail: unknown = null) => process.connected && process.send!({ event, detail });
const held = new Map<string, () => void>();
process.on("message", ({ release }: { release: string }) => held.get(release)?.());
process.on("disconnect", () => process.exit(0));

const task = taskWith(async (effect: Effect, ms, isHeld) => {
  const value = randomUUID();
  tell("effect", { ...effect, value });
  if (isHeld) await new Promise<void>((resolve) => held.set(effect.runId, resolve));
  else await pass(ms);
  return value;
});

try {
  const quick = { housekeeping: 100, pollInterval: 50, pollMax: 200 };
  const store = postgres(url, { schema, queryTimeout: "2s" });
  const node = await createNode({ store, programs: [task], ...quick, ...options });
  for (const name of ["run.claimed", "run.settled", "run.reclaimed", "claim.lost", "claim.in_doubt"] as const) {
    node.on(name, ({ node: _, ...facts }) => tell(name, facts));
  }
  node.on("step.completed", ({ runId, step }) => tell("step.completed", { runId, step }));
  tell("ready");
} catch (error) {
  tell("refused", { code: (error as { code?: string }).code, message: (error as Error).message });
}
