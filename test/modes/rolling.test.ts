// A deployment of other code, rolled out and back under load by real processes: runs that one version has advanced are left to it by
// the other, none ends badly, and none is left quarantined when both versions are there.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { RunHandle } from "../../src/client/run-handle.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { CHANGES, rolled, type Version } from "./rolling-programs.js";

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const client = createClient({ store, env: "rolling" });
const programs = rolled("v1");
const processes = new Set<ChildProcess>();

beforeAll(() => store.migrate());
afterAll(async () => {
  for (const child of processes) child.kill("SIGKILL");
  await store.close();
});

async function start(version: Version, identity: string): Promise<ChildProcess> {
  const child = fork(compiled(join(import.meta.dirname, "rolling.child.ts")), [url, schema, version, identity], {
    execArgv: [],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  processes.add(child);
  child.once("exit", () => processes.delete(child));
  await once(child, "message");
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  expect((await exit)[0]).toBe(0);
}

const FLEET = 3;
const CHILDREN = 6;

/** One parent of each kind of change. */
async function load(): Promise<RunHandle<number>[]> {
  return Promise.all(CHANGES.map((change) => client.start(programs[change].parent, CHILDREN)));
}

/** The new process is up before the old one stops, as a supervisor does it; load continues all the time. */
async function roll(from: readonly ChildProcess[], to: Version, runs: RunHandle<number>[]): Promise<ChildProcess[]> {
  const next: ChildProcess[] = [];
  for (const [i, old] of from.entries()) {
    runs.push(...(await load()));
    next.push(await start(to, `${to}-${i}`));
    runs.push(...(await load()));
    await new Promise((resolve) => setTimeout(resolve, 600));
    await stop(old);
  }
  return next;
}

const states = () => store.runs.count({ env: "rolling" });

test("three processes rolled to other code and back under load: nothing ends badly, and all completes", {
  timeout: 180_000,
}, async () => {
  const runs: RunHandle<number>[] = [];
  const old = await Promise.all(Array.from({ length: FLEET }, (_, i) => start("v1", `old-${i}`)));
  runs.push(...(await load()), ...(await load()));
  const results = Promise.allSettled(runs.map((run) => run.result({ timeout: "150s" })));
  const newer = await roll(old, "v2", runs);
  const back = await roll(newer, "v1", runs);
  runs.push(...(await load()));
  const { failed = 0, dead = 0, cancelled = 0 } = await states();
  expect({ failed, dead, cancelled }).toEqual({ failed: 0, dead: 0, cancelled: 0 });
  // Runs that only the newer code fits wait for it, and continue when it starts.
  const again = await start("v2", "again");
  const all = await Promise.all(runs.map((run) => run.result({ timeout: "60s" })));
  expect(all).toEqual(runs.map(() => CHILDREN));
  expect((await results).filter(({ status }) => status === "rejected")).toEqual([]);
  expect(await states()).toEqual({ completed: runs.length * (CHILDREN + 1) });
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from ${schema}.journal where kind = 'misfit' group by run_id, name`,
  );
  // It happened, and each build tried each run at most once.
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ n }) => n > 1)).toEqual([]);
  const crashes = await pool.query(`select from ${schema}.runs where crashes > 0 or failures > 0`);
  expect(crashes.rows).toEqual([]);
  await Promise.all([...back, again].map(stop));
});
