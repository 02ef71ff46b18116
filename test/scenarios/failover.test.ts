// The database fails over to a streaming replica that is promoted, and back to a new one.

import { setTimeout as pass } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { RunHandle } from "../../src/index.js";
import { type PostgresStore, postgres } from "../../src/store/postgres/index.js";
import { type FaultProxy, startProxy } from "../harness/proxy.js";
import { ServerYard, type StreamingServer } from "../harness/streaming.js";
import { NodeProcesses } from "./nodes.js";
import { task } from "./task.js";

const schema = "holdfast";
const nodes = new NodeProcesses({ schema });
const SETTINGS = { timing: { lease: "3s" }, concurrency: 8 } as const;
let yard: ServerYard;
/** The address of nodes and clients: it leads to the current primary. */
let proxy: FaultProxy;
let address: { host: string; port: number };
let store: PostgresStore;

beforeAll(async () => {
  yard = await ServerYard.open();
}, 60_000);
afterAll(() => yard.close());
beforeEach(async () => {
  address = { host: "127.0.0.1", port: 0 };
  proxy = await startProxy(address);
});
afterEach(async () => {
  await store.close();
  await proxy.stop();
});

function leadTo(server: StreamingServer): void {
  address.port = server.port;
  proxy.resetAll();
}

async function open(primary: StreamingServer): Promise<string> {
  leadTo(primary);
  const url = proxy.url(primary.url);
  store = postgres(url, { schema, queryTimeout: "2s" });
  await store.migrate();
  return url;
}

/** Starts runs until it is stopped; returns those whose start was acknowledged. */
function startRuns(every: number): { readonly stop: () => Promise<RunHandle<string[]>[]> } {
  const client = createClient({ store });
  const started: RunHandle<string[]>[] = [];
  let over = false;
  const going = (async () => {
    while (!over) {
      // One whose answer was lost is not acknowledged.
      await client.start(task, { steps: 4, ms: 20 }).then(
        (run) => started.push(run),
        () => {},
      );
      await pass(every);
    }
  })();
  return {
    async stop() {
      over = true;
      await going;
      return started;
    },
  };
}

interface Entry {
  readonly run_id: string;
  readonly epoch: number;
  readonly tokens: number;
}

/** An epoch that was given out twice, before and after the failover, would show two tokens if a stale write had got in. */
const twoTokens = `select run_id, epoch::int, count(distinct token)::int as tokens from ${schema}.journal
  where token is not null group by 1, 2 having count(distinct token) > 1`;
const gaps = `select run_id, count(*)::int as n, max(seq)::int as last from ${schema}.journal group by 1 having count(*) <> max(seq)`;

test("with synchronous replication nothing acknowledged is lost, there and back", { timeout: 120_000 }, async () => {
  const first = await yard.primary("first");
  const url = await open(first);
  const second = await yard.replica("second", first);
  await first.waitForReplica();
  await Promise.all([nodes.start("a", url, SETTINGS), nodes.startHere("b", url, SETTINGS)]);
  const starting = startRuns(15);
  await nodes.until(() => nodes.of("run.settled").length > 15);

  await first.crash();
  await second.promote();
  leadTo(second);
  const settled = nodes.of("run.settled").length;
  await nodes.until(() => nodes.of("run.settled").length > settled + 15);

  // And back: to a new server in the place of the first one.
  const third = await yard.replica("third", second);
  await second.waitForReplica();
  await second.crash();
  await third.promote();
  leadTo(third);
  const again = nodes.of("run.settled").length;
  await nodes.until(() => nodes.of("run.settled").length > again + 15);

  const runs = await starting.stop();
  for (const run of runs) expect(await run.result({ timeout: "30s" })).toHaveLength(4);
  expect(await third.query<Entry>(twoTokens)).toEqual([]);
  expect(await third.query(gaps)).toEqual([]);
  await expectAcknowledgedSteps(third);
});

/** Every step that was acknowledged as recorded is in the journal of the last server. */
async function expectAcknowledgedSteps(server: StreamingServer): Promise<void> {
  const rows = await server.query<{ run_id: string; name: string }>(
    `select run_id, name from ${schema}.journal where kind = 'step'`,
  );
  const recorded = new Set(rows.map(({ run_id, name }) => `${run_id} ${name}`));
  const acknowledged = nodes.of("step.completed").map(({ detail }) => `${detail.runId} ${detail.step}`);
  expect(acknowledged.length).toBeGreaterThan(100);
  expect(acknowledged.filter((one) => !recorded.has(one))).toEqual([]);
  expect(rows.length, "one result per step").toBe(recorded.size);
}

test("with asynchronous replication the loss is detected, no stale write is accepted, and work continues (F24)", {
  timeout: 120_000,
}, async () => {
  const first = await yard.primary("leading");
  const url = await open(first);
  await using cable = await startProxy({ host: "127.0.0.1", port: first.port });
  const second = await yard.replica("lagging", first, cable);
  await nodes.start("a", url, SETTINGS);
  const early = await Promise.all(
    Array.from({ length: 6 }, () => createClient({ store }).start(task, { steps: 200, ms: 40 })),
  );
  await nodes.until(() => early.every((run) => nodes.effects(run.id, "s1").length > 0));

  // The replica receives nothing any more: what is acknowledged from now on is lost, including a node that registers.
  cable.mode = "blackhole";
  await nodes.startHere("late", url, SETTINGS);
  const stepsBefore = nodes.of("step.completed").length;
  const lost = await Promise.all(
    Array.from({ length: 5 }, () => createClient({ store }).start(task, { steps: 200, ms: 40 })),
  );
  await nodes.until(() => nodes.of("step.completed").length > stepsBefore + 60);
  await nodes.until(() => lost.every((run) => nodes.effects(run.id, "s0").length > 0));
  await first.crash();
  await second.promote();
  leadTo(second);

  const after = await createClient({ store }).start(task, { steps: 3, ms: 5 });
  await after.result({ timeout: "30s" });
  for (const run of lost) expect(await store.runs.get(run.id), "a start that the replica never saw").toBeNull();
  const isWorked = async () => {
    const [row] = await second.query<{ n: number }>(
      `select count(*)::int as n from ${schema}.runs where state = 'running' and epoch > 1`,
    );
    return row!.n;
  };
  await expect.poll(isWorked, { timeout: 30_000 }).toBeGreaterThan(0);
  // Holders of lost claims learned it; the others continue from what the replica has.
  const losers = () => new Set(nodes.of("claim.lost").map(({ detail }) => detail.runId));
  await nodes.until(() => lost.every((run) => losers().has(run.id)));
  for (const run of early) await run.cancel();
  for (const run of early)
    await expect(run.result({ timeout: "30s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  expect(await second.query(twoTokens)).toEqual([]);
  expect(await second.query(gaps)).toEqual([]);
  const [again] = await second.query<{ n: number }>(
    `select count(*)::int as n from (select run_id, name from ${schema}.journal where kind = 'step' group by 1, 2 having count(*) > 1) x`,
  );
  expect(again!.n, "steps with two results").toBe(0);
  const registered = await store.nodes.list({ env: "default" });
  expect(registered.map(({ identity, alive }) => [identity, alive]).sort()).toEqual([
    ["a", true],
    ["late", true],
  ]);
  const [seen] = await second.query<{ n: number }>(
    `select count(*)::int as n from ${schema}.nodes where presence is not null`,
  );
  expect(seen!.n, "nodes whose death would be seen").toBe(2);
});
