// Limits under many real connections: whatever starts and ends at the same moment, no more are admitted than allowed (S14, S15).

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Effect } from "../../../src/kernel/run/effect.js";
import type { NewLimit, NewRun, RunGroup } from "../../../src/kernel/run/new-run.js";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import type { PostgresStore } from "../../../src/store/postgres/open.js";
import {
  claimFrom,
  commitOf,
  commitOne,
  complete,
  countingWorld,
  group,
  json,
  newRun,
  newRuns,
  park,
  scene,
} from "../scene.js";

const PROCESSES = 6;
const s = scene();
const stores = Array.from({ length: PROCESSES }, () => s.open({ connections: 4 }));

const own = (): { from: RunGroup; limit: (max: number, more?: Partial<NewLimit>) => NewLimit } => {
  const from = group(`q-${randomUUID()}`);
  return { from, limit: (max, more) => ({ kind: "slots", key: `slots ${from.queue}`, max, ...more }) };
};

const admitted = async (key: string) => {
  const [row] = await s.rows<{ n: number }>(
    `select count(*)::int as n from {s}.runs r join {s}.run_limits l on l.run_id = r.id
     where l.key = $1 and r.state in ('waiting', 'running')`,
    [`test/${key}`],
  );
  return row!.n;
};

/** In one statement, so that rows of the same moment are compared. */
const states = async (from: RunGroup) => {
  const rows = await s.rows<{ state: string; n: number }>(
    `select r.state, count(*)::int as n from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group
     where g.queue = $1 group by 1`,
    [from.queue],
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
};

test("24 calls of admit at the same moment admit no more than 2 together (S15)", async () => {
  for (let round = 0; round < 30; round++) {
    const { from, limit } = own();
    const runs = newRuns(12, { group: from, limits: [limit(2)] });
    // In a caller's transaction nothing is admitted: all runs wait, and no admission has run yet.
    await inTransaction((tx) => s.store.runs.insert(runs, { tx }));
    const ids = runs.map(({ id }) => id);
    const asks = stores.flatMap((store) => [1, 2, 3, 4].map(() => store.runs.admit({ runIds: ids })));
    const counts = await Promise.all(asks);
    expect(counts.reduce((a, b) => a + b, 0)).toBe(2);
    expect(await states(from)).toEqual({ waiting: 2, held: 10 });
  }
});

test("processes that claim, end, park and admit without pause never hold more than the limit, and all work is done", async () => {
  const { from, limit } = own();
  const MAX = 3;
  const runs = newRuns(120, { group: from, limits: [limit(MAX)] });
  await s.store.runs.insert(runs);
  let most = 0;
  let over = false;
  const watch = (async () => {
    while (!over) most = Math.max(most, await admitted(`slots ${from.queue}`));
  })();
  let done = 0;
  const work = async (store: PostgresStore, n: number) => {
    while (done < runs.length) {
      const claimed = await claimFrom(store, from, { limit: 2 });
      await Promise.all(claimed.map((claim, i) => settle(store, claim, (n + i) % 3 === 0)));
      await store.runs.wakeParked({ limit: 100 });
      await store.runs.admit(n % 2 === 0 ? { env: "test", keys: 100 } : { runIds: [runs[0]!.id] });
    }
  };
  const settle = async (store: PostgresStore, claim: ClaimedRun, parks: boolean) => {
    // Once: it sleeps for no time at all and comes back.
    const first = claim.epoch === 1 && parks;
    const answer = await commitOne(store, commitOf(claim, first ? park({ wakeInMs: 0 }) : complete));
    expect(answer.outcome).toBe("accepted");
    if (!first) done++;
    await store.runs.admit({ runIds: [claim.runId] });
  };
  await Promise.all(stores.map(work));
  over = true;
  await watch;
  expect(most).toBeLessThanOrEqual(MAX);
  expect(most).toBeGreaterThan(1);
  expect(await states(from)).toEqual({ completed: 120 });
  const left = "select state from {s}.run_limits where state in ('waits', 'granted') and key = $1";
  expect(await s.rows(left, [`test/slots ${from.queue}`])).toEqual([]);
}, 60_000);

test("limits at several stages, asked for by all at once, meet in no deadlock", async () => {
  const worlds = stores.map(() => countingWorld());
  const asking = worlds.map((world) => s.open({ world, connections: 4 }));
  const { from } = own();
  const keyed = (key: string, max: number): NewLimit => ({ kind: "slots", key: `slots ${from.queue} ${key}`, max });
  // Always in one order: in both, runs with one place each would wait for each other for ever.
  const runs = Array.from({ length: 60 }, (_, i) => {
    const some = [keyed("a", 2), keyed("b", 2)].filter((_, n) => i % 3 !== n);
    return newRun({ group: from, limits: [...some, keyed("all", 3)] });
  });
  await Promise.all(asking.map((store, n) => store.runs.insert(runs.slice(n * 10, n * 10 + 10))));
  for (let done = 0; done < runs.length; ) {
    const claimed = (await Promise.all(asking.map((store) => claimFrom(store, from, { limit: 2 })))).flat();
    expect(claimed.length).toBeLessThanOrEqual(3);
    const endings = claimed.map(async (claim, i) => {
      await commitOne(asking[i]!, commitOf(claim, complete));
      await asking[i]!.runs.admit({ runIds: [claim.runId] });
    });
    await Promise.all([...endings, ...asking.map((store) => store.runs.admit({ env: "test", keys: 100 }))]);
    done += claimed.length;
  }
  // A deadlock would be transient: the store tries again.
  expect(worlds.map(({ retries }) => retries)).toEqual(worlds.map(() => 0));
}, 60_000);

test("a serial key: cancels and signals at the head of the line do not let others past it (S14)", async () => {
  const { from } = own();
  const limits: NewLimit[] = [{ kind: "serial", key: `serial ${from.queue}`, max: 1 }];
  const runs = newRuns(40, { group: from, limits });
  await s.store.runs.insert(runs);
  const order: string[] = [];
  while (order.length < runs.length) {
    const claimed = (await Promise.all(stores.map((store) => claimFrom(store, from)))).flat();
    expect(claimed.length).toBeLessThanOrEqual(1);
    if (claimed.length === 0) continue;
    const [claim] = claimed;
    order.push(claim!.runId);
    const next = runs[order.length]?.id;
    const bell = () => ({ runId: next!, key: `signal:${randomUUID()}`, messageId: randomUUID() });
    await Promise.all([
      ...stores
        .slice(1)
        .map(
          (store) => next && store.inbox.send([{ ...bell(), kind: "signal", name: "n", payload: null, sender: null }]),
        ),
      commitOne(stores[0]!, commitOf(claim!, complete)).then(() => stores[0]!.runs.admit({ runIds: [claim!.runId] })),
    ]);
  }
  expect(order).toEqual(runs.map(({ id }) => id));
}, 60_000);

test("a retried run waits again for every limit that it had released", async () => {
  for (const from of ["failed", "dead", "quarantined", "paused"] as const) {
    const { from: queue, limit } = own();
    const limits = [limit(1, { kind: "serial", key: `serial ${queue.queue}` }), limit(1)];
    const [first, second] = newRuns(2, { group: queue, limits }) as [NewRun, NewRun];
    await s.store.runs.insert([first]);
    const [claim] = await claimFrom(s.store, queue);
    await s.store.runs.insert([second]);
    const effect: Effect = from === "paused" ? { kind: "pause" } : { kind: "fail", as: from, reason: json("no") };
    expect((await commitOne(s.store, commitOf(claim!, effect))).outcome).toBe("accepted");
    await s.store.runs.admit({ runIds: [first.id] });
    // One that was paused has kept its serial place.
    const others = from === "paused" ? "held" : "waiting";
    expect([from, (await s.store.runs.get(second.id))!.state]).toEqual([from, others]);
    await s.rows("update {s}.runs set state = 'waiting', generation = generation + 1, ended_at = null where id = $1", [
      first.id,
    ]);
    expect([from, (await s.store.runs.get(first.id))!.state]).toEqual([from, "held"]);
    expect([from, await s.store.runs.admit({ runIds: [first.id] })]).toEqual([from, from === "paused" ? 1 : 0]);
  }
});

test("a transaction that keeps one snapshot is refused, not counted wrong", async () => {
  // Our own connections are set to read committed; behind a pooler, a setting may come from another client.
  const client = await s.pool.connect();
  await client.query("begin isolation level repeatable read");
  const asked = client.query(`select * from ${s.schema}.admit_runs(array['k'], now(), interval '1 s')`);
  await expect(asked).rejects.toThrow("limits need read committed");
  await client.query("rollback");
  client.release();
});

async function inTransaction<T>(
  work: (tx: { query: (text: string, values: unknown[]) => Promise<{ rows: unknown[] }> }) => Promise<T>,
) {
  const client = await s.pool.connect();
  try {
    await client.query("begin");
    const result = await work({ query: (text, values) => client.query(text, values) });
    await client.query("commit");
    return result;
  } finally {
    client.release();
  }
}
