// Cancelled sagas, each stopped at another point of its clean-up, in a process that is then killed: one kill -9 for all points.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { openSagaNode, type Point, saga, UNDONE } from "./saga.js";

const { url, schema, pool } = testSchema();
const CHILD = compiled(join(import.meta.dirname, "saga-kills.child.ts"));
/** Compensations are steps: what the database has between two writes is what it has around their effects. */
const AROUND = ["flight before", "flight after", "car before", "car after", "hotel before", "hotel after"] as const;
const stopped = new Set<string>();
let child: ChildProcess;
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
  await pool.query(UNDONE(schema));
  child = fork(CHILD, [url, schema], { execArgv: [] });
  await new Promise<void>((resolve) => {
    child.on("message", (told: { ready?: true; runId: string }) => (told.ready ? resolve() : stopped.add(told.runId)));
  });
});
afterAll(async () => {
  child.kill("SIGKILL");
  await store.close();
});

test("every compensation acts once, the last first, after kill -9 at each point of the clean-up", {
  timeout: 60_000,
}, async () => {
  const client = createClient({ store, logger: false });
  const points: readonly Point[] = [...AROUND, "the end", null];
  const runs = await Promise.all(points.map((point) => client.start(saga, point)));
  const states = async () => (await Promise.all(runs.map((run) => run.status()))).map(({ state }) => state);
  const until = (state: string) =>
    expect.poll(states, { timeout: 25_000, interval: 20 }).toEqual(points.map(() => state));
  await until("parked");
  const cancel = (nth: number) => runs[nth]!.cancel({ by: "ann" }).catch(() => null);
  const isStopped = (n: number) => expect.poll(() => stopped.size, { timeout: 25_000, interval: 10 }).toBe(n);
  const cancels = AROUND.map((_, nth) => cancel(nth));
  await isStopped(AROUND.length);
  // The next holds back its last write, and with it every write of its process: the last run cannot even take its cancel.
  cancels.push(cancel(AROUND.length));
  await isStopped(AROUND.length + 1);
  cancels.push(cancel(AROUND.length + 1));
  await expect.poll(async () => (await states()).at(-1), { timeout: 25_000, interval: 20 }).toBe("running");
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  const successor = await openSagaNode(url, schema, null);
  await until("cancelled");
  await Promise.all(cancels);
  await successor.close();

  for (const [nth, run] of runs.entries()) {
    const { entries } = (await store.journal.read(run.id))!;
    const recorded = entries.flatMap(({ kind, name }) => (kind === "step" && name.startsWith("undo") ? name : []));
    const undone = `select what, times from ${schema}.undone where run_id = $1 order by at`;
    const { rows } = await pool.query(undone, [run.id]);
    // One key for each compensation; it is asked again where the kill came between its effect and its record.
    const expected = ["flight", "car", "hotel"].map((what) => ({
      what,
      times: points[nth] === `${what} after` ? 2 : 1,
    }));
    expect({ point: points[nth], recorded, rows }).toEqual({
      point: points[nth],
      recorded: ["undo flight", "undo car", "undo hotel"],
      rows: expected,
    });
  }
});
