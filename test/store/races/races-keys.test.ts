// Dedupe keys under contention: one run per key, the losers get the existing run, and no deadlock.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { NewRun } from "../../../src/kernel/run/new-run.js";
import { systemWorld } from "../../../src/kernel/system-world.js";
import type { Subscription } from "../../../src/store/contract/event/events.js";
import { accept, claimFrom, commitOf, complete, countingWorld, group, newRun, scene, shuffled } from "../scene.js";

const s = scene();
const world = countingWorld();
const stores = Array.from({ length: 8 }, () => s.open({ world }));

function keyed(key: string, more: Partial<NewRun> = {}, hash = "same"): NewRun {
  const id = { scope: "orders", key, payloadHash: hash, lifetime: "live", onMismatch: "conflict" } as const;
  return newRun({ key: id, ...more });
}

async function runsPerKey(prefix: string): Promise<unknown[]> {
  return s.rows(
    "select k.key, count(r.id)::int as n from {s}.run_keys k join {s}.runs r on r.id = k.run_id where k.key like $1 group by 1",
    [`${prefix}%`],
  );
}

test("eight connections insert the same fifty keys in shuffled batches: no deadlock, one run per key", async () => {
  for (let round = 0; round < 10; round++) {
    const names = Array.from({ length: 50 }, (_, i) => `r${round}-${i}`);
    const from = group(`keys-${round}`);
    const answers = await Promise.all(
      stores.map((store, i) =>
        store.runs.insert(shuffled(names, round * 8 + i).map((key) => keyed(key, { group: from }))),
      ),
    );
    expect(answers.flat().filter((answer) => answer.outcome === "inserted")).toHaveLength(50);
    expect(new Set(answers.flat().map((answer) => answer.outcome))).toEqual(new Set(["inserted", "existing"]));
    expect(new Set(answers.flat().map((answer) => answer.runId)).size).toBe(50);
    expect(await s.store.runs.count({ env: "test", queue: `keys-${round}` })).toEqual({ waiting: 50 });
  }
  expect(world.retries).toBe(0);
});

test("two batches that wait for the same key of an open transaction do not deadlock once it is rolled back", async () => {
  const before = world.retries;
  const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and query like $1";
  for (let round = 0; round < 8; round++) {
    const [a, b] = [`held-${round}-a`, `held-${round}-b`];
    const tx = await s.pool.connect();
    await tx.query("begin");
    await s.store.runs.insert([keyed(b)], { tx });
    const batches = [
      [b, a],
      [a, b],
    ].map((keys, i) => stores[i]!.runs.insert(keys.map((key) => keyed(key))));
    await expect.poll(() => s.rows(waiting, [`%${s.schema}%`])).toHaveLength(2);
    await tx.query("rollback");
    tx.release();
    const answers = (await Promise.all(batches)).flat();
    expect(answers.filter(({ outcome }) => outcome === "inserted")).toHaveLength(2);
  }
  expect(world.retries).toBe(before);
}, 30_000);

test("eight connections start the same events in shuffled batches: no deadlock, one run per event and subscription", async () => {
  const of = { env: "test", stack: null, event: "raced", version: null, where: [], subject: null, debounceMs: null };
  const subscriptions: Subscription[] = ["one", "two"].map((program) => {
    return {
      ...of,
      id: `${program} on raced`,
      scope: `${program} on raced`,
      program,
      queue: program,
      lifetime: "archived",
      crashLimit: 5,
      breaker: null,
    };
  });
  const incarnation = randomUUID();
  await s.store.events.subscribe({ incarnation, env: "test", subscriptions, starting: true });
  await s.store.runs.groupIds(
    subscriptions.map(({ env, stack, queue, program, version }) => ({ env, stack, queue, program, version })),
  );
  for (let round = 0; round < 5; round++) {
    const keys = Array.from({ length: 50 }, (_, i) => `event-${round}-${i}`);
    const answers = await Promise.all(
      stores.map((store, i) =>
        store.events.start(
          shuffled(keys, round * 8 + i).map((key) => {
            const input = { codec: "json", data: "{}" };
            return { ...of, id: systemWorld().id(), plain: "{}", key, payloadHash: "h", input };
          }),
        ),
      ),
    );
    const runs = answers.flat().flatMap((answer) => (answer.outcome === "started" ? answer.runs : []));
    expect(runs).toHaveLength(8 * 50 * 2);
    expect(runs.filter(({ outcome }) => outcome === "inserted")).toHaveLength(100);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(100);
    expect(await s.store.runs.count({ env: "test", queue: "one" })).toEqual({ waiting: 50 * (round + 1) });
  }
  const apart = `select from ${s.schema}.run_keys k join ${s.schema}.runs r on r.id = k.run_id where k.xmin <> r.xmin`;
  expect((await s.pool.query(apart)).rowCount, "keys that another transaction wrote than their runs").toBe(0);
  expect(world.retries).toBe(0);
});

test("one key a hundred times at once with other payloads: one run, every other call a conflict", async () => {
  const calls = Array.from({ length: 100 }, (_, i) => keyed("hot", {}, i < 50 ? "mine" : `other-${i}`));
  const answers = (await Promise.all(calls.map((run, i) => stores[i % 8]!.runs.insert([run])))).flat();
  const winner = answers.findIndex((answer) => answer.outcome === "inserted");
  expect(answers.filter((answer) => answer.outcome === "inserted")).toHaveLength(1);
  const { payloadHash } = calls[winner]!.key!;
  for (const [i, answer] of answers.entries()) {
    if (i === winner) continue;
    const same = calls[i]!.key!.payloadHash === payloadHash;
    expect(answer).toEqual({ outcome: same ? "existing" : "conflict", runId: calls[winner]!.id });
  }
  expect(await runsPerKey("hot")).toEqual([{ key: "hot", n: 1 }]);
});

test("a trigger's key with another payload returns the existing run", async () => {
  const first = keyed("trigger");
  await s.store.runs.insert([first]);
  const second = keyed("trigger", {}, "other");
  const skip = { ...second, key: { ...second.key!, onMismatch: "skip" as const } };
  expect(await s.store.runs.insert([skip])).toEqual([{ outcome: "existing", runId: first.id }]);
});

test("when a run has ended, one of many new runs gets its key", async () => {
  for (let round = 0; round < 20; round++) {
    const from = group(`next-${round}`);
    await s.store.runs.insert([keyed(`next-${round}`, { group: from })]);
    const [claim] = await claimFrom(s.store, from);
    await accept(s.store, commitOf(claim!, complete));
    const runs = stores.map(() => keyed(`next-${round}`, { group: from }));
    const answers = (await Promise.all(runs.map((run, i) => stores[i]!.runs.insert([run])))).flat();
    const inserted = answers.filter((answer) => answer.outcome === "inserted");
    expect(inserted).toHaveLength(1);
    for (const answer of answers) expect(answer.runId).toBe(inserted[0]!.runId);
    expect(await s.store.runs.count({ env: "test", queue: `next-${round}`, states: ["waiting"] })).toEqual({
      waiting: 1,
    });
  }
});

test("an insert repeated after its key went to another run still returns that it was inserted", async () => {
  const from = group("late");
  const first = keyed("late", { group: from });
  await s.store.runs.insert([first]);
  const [claim] = await claimFrom(s.store, from);
  await accept(s.store, commitOf(claim!, complete));
  await s.store.runs.insert([keyed("late", { group: from }, "another")]);
  expect(await s.store.runs.insert([first])).toEqual([{ outcome: "inserted", runId: first.id }]);
});

test("the same run inserted a hundred times at once is there once", async () => {
  const run = newRun({ group: group("once") });
  const answers = (await Promise.all(Array.from({ length: 100 }, (_, i) => stores[i % 8]!.runs.insert([run])))).flat();
  for (const answer of answers) expect(answer).toEqual({ outcome: "inserted", runId: run.id });
  expect((await s.store.journal.read(run.id))!.entries).toHaveLength(1);
});

test("a new group asked for by all at once gets one number", async () => {
  const groups = Array.from({ length: 20 }, (_, i) => group(`fresh-${i}`));
  const ids = await Promise.all(stores.map((store, i) => store.runs.groupIds(shuffled(groups, i))));
  for (const [i, answer] of ids.entries()) {
    const order = shuffled(groups, i);
    const byName = new Map(order.map((one, k) => [one.queue, answer[k]]));
    expect(groups.map((one) => byName.get(one.queue))).toEqual(await s.store.runs.groupIds(groups));
  }
});

test("runs of one batch are claimed in the batch's order, with keys or without", async () => {
  for (const make of [keyed, (_: string, more: Partial<NewRun>) => newRun(more)]) {
    const from = group(`ordered-${make.length}`);
    const runs = shuffled(
      Array.from({ length: 20 }, (_, i) => make(`ordered-${i}`, { group: from })),
      7,
    );
    await s.store.runs.insert(runs);
    const claimed = await claimFrom(s.store, from, { limit: 20 });
    expect(claimed.map((claim) => claim.runId)).toEqual(runs.map((run) => run.id));
  }
});
