// The operations on instances of machines that write, each on an instance of its own.

import { randomUUID } from "node:crypto";
import type { Append, NewInstance } from "../../../src/store/contract/machine/machines.js";
import type { Store } from "../../../src/store/contract/store.js";
import { group, json, newRun } from "../scene.js";
import type { Operation } from "./unanswered-operation.js";

function drawn() {
  const of = group("m");
  const timer = { id: randomUUID(), generation: 1, kind: "after", name: "t", payload: json(1), delayMs: 0 } as const;
  const event = { kind: "event", name: "GO", key: null, payload: json(1), by: null } as const;
  const change = { status: "active", value: '"a"', version: null, told: [] } as const;
  const one: NewInstance = {
    ...{ ...change, token: randomUUID(), events: [{ ...event, kind: "start" }], timers: [timer] },
    ...{ key: randomUUID(), id: randomUUID(), group: of, inputHash: "h", redact: [], snapshot: json(1) },
    effects: [newRun({ group: of })],
  };
  const told = {
    ...{ id: randomUUID(), generation: 0, instanceKey: one.key, group: of },
    name: "HI",
    payload: json(2),
    delayMs: 0,
  };
  const append: Append = {
    ...{ ...change, token: randomUUID(), events: [event, { ...event, key: "k" }], snapshot: json(2), key: one.key },
    ...{ group: of, expectedSeq: 1, fired: [{ id: timer.id, generation: 1 }], cancelled: [] },
    timers: [{ ...timer, id: randomUUID(), generation: 3 }],
    told: [{ ...told, id: randomUUID(), generation: 3 }],
    effects: [newRun({ group: of })],
  };
  return { one, told, append, timer };
}

type Drawn = ReturnType<typeof drawn>;

function onInstance(act: (store: Store, of: Drawn) => Promise<unknown>) {
  const of = drawn();
  return async (store: Store) => {
    await store.machines.create([of.one]);
    return () => act(store, of);
  };
}

async function dead(store: Store, { one, timer }: Drawn): Promise<unknown> {
  const settlement = { id: timer.id, generation: 1, attempts: 0, as: "dead", delayMs: 0, problem: null } as const;
  await store.machines.settleTimers([settlement]);
  return store.machines.retryTimers(one.key);
}

export function machineOperations(): Operation[] {
  const first = drawn();
  return [
    {
      name: "machines.create",
      statement: "create_instances",
      prepare: async (store) => {
        await store.runs.groupIds([first.one.group]);
        return () => store.machines.create([first.one]);
      },
    },
    {
      name: "machines.append",
      statement: "append_instances",
      prepare: onInstance(async (store, { append }) => (await store.machines.append([append]))[0]),
    },
    {
      name: "machines.tell",
      statement: "tell_instances",
      prepare: onInstance((store, { told }) => store.machines.tell([told])),
    },
    {
      name: "machines.claimTimers",
      statement: "claim_timers",
      answersWhatItDid: true,
      prepare: onInstance(async (store, { one }) => {
        const claim = { groups: [one.group], limit: 9, leaseMs: 60_000, mostAttempts: 3 };
        return (await store.machines.claimTimers(claim)).timers.length;
      }),
    },
    {
      name: "machines.settleTimers that drops",
      statement: "settle_timers",
      answersWhatItDid: true,
      prepare: onInstance((store, { timer }) =>
        store.machines.settleTimers([
          { id: timer.id, generation: 1, attempts: 0, as: "drop", delayMs: 0, problem: null },
        ]),
      ),
    },
    {
      name: "machines.settleTimers that keeps",
      statement: "settle_timers",
      prepare: onInstance((store, { timer }) =>
        store.machines.settleTimers([
          { id: timer.id, generation: 1, attempts: 0, as: "retry", delayMs: 9, problem: "why" },
        ]),
      ),
    },
    {
      name: "machines.settleTimers that takes an attempt back",
      statement: "settle_timers",
      answersWhatItDid: true,
      prepare: onInstance(async (store, { one, timer }) => {
        // Twice taken: taken back twice, it would be as if it never had been.
        const claim = { groups: [one.group], limit: 9, leaseMs: 0, mostAttempts: 9 };
        for (let n = 0; n < 2; n++) await store.machines.claimTimers(claim);
        return store.machines.settleTimers([
          { id: timer.id, generation: 1, attempts: 2, as: "untried", delayMs: 9, problem: null },
        ]);
      }),
    },
    {
      name: "machines.note",
      statement: "note_problem",
      answersWhatItDid: true,
      prepare: onInstance((store, { one }) => store.machines.note(one.key, 1, "odd")),
    },
    { name: "machines.retryTimers", statement: "retry_timers", answersWhatItDid: true, prepare: onInstance(dead) },
    {
      name: "machines.prune",
      statement: "prune_instances",
      answersWhatItDid: true,
      prepare: onInstance(async (store, { append }) => {
        await store.machines.append([{ ...append, status: "done", timers: [] }]);
        return store.machines.prune({ env: "test", endedBeforeMs: 0, limit: 9 });
      }),
    },
  ];
}
