// Fills a schema with runs in every state, instances, messages and keys, and reads it while a node works.

import pg from "pg";
import { createClient } from "../../../src/client/create-client.js";
import { RUN_STATES } from "../../../src/kernel/run/run-state.js";
import { createNode } from "../../../src/node/create-node.js";
import type { NodeOptions } from "../../../src/node/node-options.js";
import type { Store } from "../../../src/store/contract/store.js";
import { openPostgres } from "../../../src/store/postgres/open.js";
import { type Filled, readFilled } from "./filled.js";
import { ordered, paid, programs } from "./programs.js";

const QUICK = { timing: { pollInterval: 20, pollMax: 50, housekeeping: 50, lease: "2s" } } as const;

export async function fill(url: string, schema: string): Promise<Filled> {
  const store = openPostgres(url, { schema });
  await store.migrate();
  const own = programs(() => false);
  const client = createClient({ store });
  const nodeOf = (all: NodeOptions["programs"]) => createNode({ store, programs: all, ...QUICK, concurrency: 30 });
  const stateOf = async (id: string) => (await store.runs.get(id))?.state;

  const first = await nodeOf(own.all);
  const misfit = await client.start(own.changed);
  await until(async () => (await stateOf(misfit.id)) === "parked");
  await first.stop({ grace: 0 });
  const second = await nodeOf(programs(() => false, { other: true }).all);
  await misfit.signal(paid, { cents: 1 });
  await until(async () => (await stateOf(misfit.id)) === "quarantined");
  await second.stop({ grace: 0 });
  await die(store, (await client.start(own.doomed)).id);

  // Without the code that fits: it would lift the quarantine.
  const third = await nodeOf(own.all.filter((program) => program !== own.changed));
  const runs = await Promise.all([
    client.start(own.waits, 1),
    client.start(own.listens),
    client.start(own.asks),
    client.start(own.parent),
    client.start(own.limited),
    client.start(own.limited),
    client.start(own.pair),
    client.start(own.skips),
    client.start(own.walk, { n: 1, ok: false }),
    client.start(own.fails),
    client.start(own.waits, 2, { key: "once" }),
  ]);
  await client.emit(ordered, { id: "o-1" });
  const done = await client.start(own.sleeps);
  await done.result({ timeout: "10s" });
  const cancelled = await client.start(own.listens);
  await until(async () => (await stateOf(cancelled.id)) === "parked");
  await cancelled.cancel({ by: "ann" });
  const paused = await client.start(own.waits, 3, { delay: "1s" });
  await paused.pause({ by: "ann" });
  const order = await client.start(own.orders, { email: "a@b" }, { id: "order-1" });
  await order.send({ type: "NOTE" });
  await until(async () => (await stateOf(runs[9]!.id)) === "failed" && (await stateOf(runs[7]!.id)) === "failed");
  await until(async () => (await stateOf(runs[8]!.id)) === "parked" && (await stateOf(runs[2]!.id)) === "parked");
  await client.start(own.sleeps);
  await client.start(own.waits, 4, { delay: "3s" });
  const reader = new pg.Client({ connectionString: url });
  await reader.connect();
  try {
    return await readComplete(reader, schema);
  } finally {
    await reader.end();
    await third.stop({ grace: 0 });
    await store.close();
  }
}

/** Its holders die one after the other. */
async function die(store: Store, runId: string): Promise<void> {
  const { group, crashLimit } = (await store.runs.get(runId))!;
  const groupIds = await store.runs.groupIds([group]);
  for (let i = 0; i < crashLimit; i++) {
    const [owner, token] = [crypto.randomUUID(), crypto.randomUUID()];
    await store.runs.claim({ owner, token, groupIds, limit: 1, leaseMs: 0 });
    await store.runs.reclaimExpired({ env: group.env, limit: 100 });
  }
}

async function readComplete(reader: pg.Client, schema: string): Promise<Filled> {
  const filled = await readFilled(reader, schema);
  const states = new Set(filled.tables["runs"]!.map((row) => row["state"]));
  const missing = RUN_STATES.filter((state) => !states.has(state));
  if (missing.length > 0) throw new TypeError(`no run is ${missing.join(", ")}`);
  return filled;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new TypeError(`after 20 s not yet: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
