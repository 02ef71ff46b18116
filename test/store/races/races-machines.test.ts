// Sends against fires on the same instances, from several processes: nothing deadlocks, nothing is lost, nothing fires twice.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Append, NewInstance } from "../../../src/store/contract/machine/machines.js";
import type { Store } from "../../../src/store/contract/store.js";
import { group, json, scene } from "../scene.js";

const s = scene();
const of = group("m");
const event = { kind: "event", name: "GO", key: null, payload: json(1), by: null } as const;
const change = { status: "active", value: '"a"', version: null, effects: [] } as const;

function timerOf(key: string, generation: number) {
  return { id: key, generation, kind: "after", name: "t", payload: json(1), delayMs: 0 } as const;
}

function append(key: string, seq: number, generation: number | null): Append {
  return {
    ...{ ...change, token: randomUUID(), events: [event], snapshot: json(seq), key, group: of, expectedSeq: seq },
    ...{ timers: [timerOf(key, seq + 1)], told: [], cancelled: [] },
    fired: generation === null ? [] : [{ id: key, generation }],
  };
}

test("sends and fires of 20 instances by eight processes: no deadlock, every log whole, each generation fired at most once", async () => {
  const stores = Array.from({ length: 8 }, () => s.open());
  const keys = Array.from({ length: 20 }, () => randomUUID());
  const made = keys.map(
    (key): NewInstance => ({
      ...{ ...change, token: randomUUID(), events: [{ ...event, kind: "start" }], timers: [timerOf(key, 1)], told: [] },
      ...{ key, id: key, group: of, inputHash: "h", redact: [], snapshot: json(1) },
    }),
  );
  await s.store.machines.create(made);
  const until = Date.now() + 3_000;
  const fired: string[] = [];
  let sent = 0;
  const send = async (store: Store) => {
    while (Date.now() < until) {
      const some = keys.filter(() => Math.random() < 0.3);
      const loaded = await store.machines.load(some);
      const answers = await store.machines.append(loaded.map((one) => append(one!.key, one!.seq, null)));
      sent += answers.filter(({ outcome }) => outcome === "accepted").length;
      expect(answers.filter(({ outcome }) => !["accepted", "moved", "busy"].includes(outcome))).toEqual([]);
    }
  };
  const fire = async (store: Store) => {
    const claim = { groups: [of], limit: 20, leaseMs: 5, mostAttempts: 1_000_000 };
    while (Date.now() < until) {
      const { timers, instances } = await store.machines.claimTimers(claim);
      const seqs = new Map(instances.map(({ key, seq }) => [key, seq]));
      const appends = timers.map((one) => append(one.instanceKey, seqs.get(one.instanceKey)!, one.generation));
      const answers = await store.machines.append(appends);
      for (const [i, { outcome }] of answers.entries()) {
        if (outcome === "accepted") fired.push(`${timers[i]!.instanceKey}@${timers[i]!.generation}`);
      }
    }
  };
  await Promise.all(stores.map((store, i) => (i % 2 ? fire(store) : send(store))));
  expect(sent).toBeGreaterThan(0);
  expect(fired.length).toBeGreaterThan(0);
  expect(new Set(fired).size).toBe(fired.length);
  const logs = await s.rows<{ n: number }>(
    `select count(*)::int as n from {s}.instances i
     where i.seq <> (select count(*) from {s}.instance_events e where e.instance = i.key)
        or i.seq <> (select generation from {s}.timers x where x.instance = i.key)`,
  );
  expect(logs).toEqual([{ n: 0 }]);
});

test("a new message while the old one is applied, in one call: both are written, one after the other", async () => {
  const [a, b] = [randomUUID(), randomUUID()];
  const make = (key: string): NewInstance => ({
    ...{ ...change, token: randomUUID(), events: [{ ...event, kind: "start" }], timers: [], told: [] },
    ...{ key, id: key, group: of, inputHash: "h", redact: [], snapshot: json(1) },
  });
  await s.store.machines.create([make(a), make(b)]);
  const told = { id: randomUUID(), generation: 2, instanceKey: b, group: of, name: "HI", payload: json(1), delayMs: 0 };
  await s.store.machines.append([{ ...append(a, 1, null), timers: [], told: [told] }]);
  const take = { ...append(b, 1, null), timers: [], fired: [{ id: told.id, generation: 2 }] };
  const tell = { ...append(a, 2, null), timers: [], told: [{ ...told, generation: 3 }] };
  const answers = await s.store.machines.append([take, tell]);
  expect(answers.map(({ outcome }) => outcome)).toEqual(["accepted", "accepted"]);
  expect(await s.store.machines.timers(b)).toMatchObject([{ id: told.id, generation: 3 }]);
});
