// One run kills every process that executes it: it ends dead, and the runs that were in the same process do not.

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { innocent, poison, type Way } from "./poison.js";

const { url, schema } = testSchema();
const QUICK = { timing: { housekeeping: 100, pollInterval: 50, pollMax: 200, presenceGrace: 300, lease: "30s" } };
let store: PostgresStore;
const children = new Set<ChildProcess>();
let supervised = true;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterEach(() => {
  supervised = false;
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});
afterAll(() => store.close());

/** Starts a process, and the next one whenever it has died. Returns how often it did. */
function supervise(identity: string, env: string, way: Way): { deaths: number } {
  const life = { deaths: 0 };
  const wish = JSON.stringify({ url, schema, env, way, identity: { id: identity }, ...QUICK });
  // A full heap is found late, after long attempts to free some of it: it must be small.
  const execArgv = way === "memory" ? ["--max-old-space-size=64"] : [];
  const start = () => {
    const child = fork(compiled(join(import.meta.dirname, "poison.child.ts")), [wish], {
      execArgv,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    children.add(child);
    child.on("exit", () => {
      children.delete(child);
      if (!supervised) return;
      life.deaths++;
      start();
    });
  };
  start();
  return life;
}

for (const [n, workMs, way] of [
  [1, 1_500, "kill"],
  [1, 500, "memory"],
  [3, 4_000, "kill"],
] as const) {
  const how = way === "memory" ? "that runs out of memory" : "that kills its process";
  test(`a run ${how} among nine innocent ones on ${n} node(s) ends dead after five crashes, and all others complete (F09)`, {
    timeout: 120_000,
  }, async () => {
    supervised = true;
    const env = `poison-${n}-${way}`;
    const client = createClient({ store, env });
    const runs = await Promise.all([
      client.start(
        poison(() => {}),
        undefined,
      ),
      ...Array.from({ length: 9 }, () =>
        client.start(
          innocent(async () => {}),
          workMs,
        ),
      ),
    ]);
    const lives = Array.from({ length: n }, (_, i) => supervise(`node-${i}`, env, way));
    const states = async () => Promise.all(runs.map(async ({ id }) => (await store.runs.get(id))!.state));
    await expect
      .poll(states, { timeout: 90_000, interval: 100 })
      .toSatisfy((all: string[]) => all.every((state) => ["dead", "completed", "failed"].includes(state)));
    expect(await states()).toEqual(["dead", ...Array.from({ length: 9 }, () => "completed")]);
    expect(lives.reduce((sum, { deaths }) => sum + deaths, 0)).toBe(5);
    const record = (await store.runs.get(runs[0]!.id))!;
    expect(record.crashes).toBe(5);
    const page = await store.journal.read(record.id, { after: record.seq - 1 });
    const reason = JSON.parse(page!.entries.at(-1)!.payload!.data);
    expect(reason).toMatchObject({ code: "CRASH_LIMIT", crashes: 5 });
    const holders = reason.holders as { incarnation: string; node: string }[];
    expect(new Set(holders.map(({ incarnation }) => incarnation)).size).toBe(5);
    expect(holders.every(({ node }) => node.startsWith("node-"))).toBe(true);
  });
}
