// The table of operations: what checks, batches and refuses in front of every store, and that nothing bypasses what is derived from it.

import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOperations } from "../../scripts/describe-operations.js";
import { runWatcher } from "../../src/client/run-watcher.js";
import { InvalidInput } from "../../src/kernel/error.js";
import type { NewRun } from "../../src/kernel/run/new-run.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { sleep } from "../../src/kernel/world.js";
import { createNode } from "../../src/node/create-node.js";
import type { Link } from "../../src/simulator/link.js";
import { remoteStore } from "../../src/simulator/remote-store.js";
import { checkedStore } from "../../src/store/checked-store.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import type { Method } from "../../src/store/operation.js";
import { mapOperations, methodOf, OPERATIONS_BY_NAME } from "../../src/store/operations.js";
import { DataRefused } from "../../src/store/postgres/connection/errors.js";
import { reportedStore, type StoreCall } from "../../src/telemetry/store-calls.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { newRun } from "./scene.js";

/** A store that answers with what it was asked. */
const echoing = (calls: unknown[][] = []) =>
  mapOperations((name) => (...args: unknown[]) => {
    calls.push([name, ...args]);
    return Promise.resolve(args);
  });

test("every operation but those that call back goes over the simulator's link, with all of its arguments", async () => {
  const travelled: string[] = [];
  const store = echoing();
  const link = {
    name: "n0.1",
    locked: (n: number) => Array.from({ length: n }, () => false),
    call: (op: string, apply: () => Promise<unknown>) => {
      travelled.push(op);
      return apply();
    },
    database: {
      store,
      tables: { nodes: new Map() },
      methodOf: (name: Parameters<typeof methodOf>[1]) => methodOf(store, name),
      onApplied: () => {},
      onHeard: () => {},
    },
  };
  const remote = remoteStore(link as unknown as Link);
  for (const [name, { callsBack, skipsLocked }] of OPERATIONS_BY_NAME) {
    const args = [{ incarnation: "i" }, { tx: { query: async () => [] } }, "third"];
    if (callsBack) expect(typeof methodOf(remote, name), name).toBe("function");
    else if (skipsLocked) {
      await methodOf(remote, name)([], ...args.slice(1));
    } else expect(await methodOf(remote, name)(...args), name).toEqual(args);
  }
  const expected = [...OPERATIONS_BY_NAME].filter(([, { callsBack }]) => !callsBack).map(([name]) => name);
  expect(travelled).toEqual(expected);
});

/** Only `insert` is real. */
function inserting(insert: Store["runs"]["insert"]): Store {
  const store = echoing();
  return { ...store, runs: { ...store.runs, insert } };
}

const inserted = (runs: readonly NewRun[]) => runs.map(({ id }) => ({ outcome: "inserted" as const, runId: id }));

test("a store without checks is given what can be stored, in the caller's own array when nothing is refused", async () => {
  const given: (readonly NewRun[])[] = [];
  const store = checkedStore(
    inserting(async (runs) => {
      given.push(runs);
      return inserted(runs);
    }),
  );
  const runs = [newRun(), newRun()];
  expect(await store.runs.insert(runs)).toEqual(inserted(runs));
  expect(given[0]).toBe(runs);
  const bad = { ...newRun(), priority: 0.5 };
  const answers = await store.runs.insert([runs[0]!, bad, runs[1]!]);
  expect(answers.map(({ outcome }) => outcome)).toEqual(["inserted", "refused", "inserted"]);
  expect(answers[1]).toMatchObject({ runId: bad.id, error: { path: "priority" } });
  expect(given[1]).toEqual(runs);
});

test("a call that is refused whole is rejected, never thrown", async () => {
  const calls: unknown[][] = [];
  const store = checkedStore(echoing(calls));
  await expect(store.runs.wakeParked({ limit: Number.NaN })).rejects.toBeInstanceOf(InvalidInput);
  await expect((store.runs.wakeParked as Method)(null)).rejects.toBeInstanceOf(TypeError);
  expect(await store.runs.get("no id")).toBeNull();
  expect(calls).toEqual([]);
});

test("calls that come together leave together, cut into batches; one in a transaction goes alone", async () => {
  const sizes: number[] = [];
  const batchesIn = new VirtualWorld();
  const store = checkedStore(
    inserting(async (runs, options) => {
      sizes.push(options?.tx ? -runs.length : runs.length);
      return inserted(runs);
    }),
    { batchesIn },
  );
  const tx = { query: async () => [] };
  const run = newRun();
  const calls = [
    store.runs.insert([run]),
    store.runs.insert([newRun(), newRun()]),
    store.runs.insert([newRun()], { tx }),
    store.runs.insert(Array.from({ length: 1500 }, () => newRun())),
  ];
  await batchesIn.advance(10);
  const answers = await Promise.all(calls);
  expect(answers.map(({ length }) => length)).toEqual([1, 2, 1, 1500]);
  expect(answers[0]).toEqual(inserted([run]));
  expect(sizes).toEqual([-1, 3, 1000, 500]);
});

test("data that the database refuses is found by halving the call, and its neighbours are stored", async () => {
  const stored: string[] = [];
  const bad = newRun();
  const store = checkedStore(
    inserting(async (runs) => {
      if (runs.includes(bad)) throw new DataRefused("insert", { code: "22021" });
      stored.push(...runs.map(({ id }) => id));
      return inserted(runs);
    }),
  );
  const runs = [newRun(), bad, newRun(), newRun(), newRun()];
  const outcomes = (await store.runs.insert(runs)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["inserted", "refused", "inserted", "inserted", "inserted"]);
  expect(stored).toEqual(runs.filter((run) => run !== bad).map(({ id }) => id));
});

test("every operation is reported while something listens: its name, its duration, and how it ended", async () => {
  const world = new VirtualWorld();
  const calls: StoreCall[] = [];
  let listens = true;
  const broken = new InvalidInput("all", "fails");
  const slow = mapOperations((name) => {
    if (name === "timeouts.onScheduled") return () => () => {};
    return async () => {
      await sleep(world, 7);
      if (name.startsWith("leases.")) throw broken;
    };
  });
  const store = reportedStore(slow, { world, listens: () => listens, called: (call) => calls.push(call) });
  const callAll = async () => {
    const answers = Promise.allSettled([...OPERATIONS_BY_NAME.keys()].map((name) => methodOf(store, name)()));
    await world.advance(10);
    await answers;
  };
  await callAll();
  expect(calls.map(({ operation }) => operation).sort()).toEqual([...OPERATIONS_BY_NAME.keys()].sort());
  for (const { operation, durationMs, outcome, error } of calls) {
    const failed = operation.startsWith("leases.");
    expect({ operation, outcome, error }).toEqual({
      operation,
      outcome: failed ? "failed" : "answered",
      error: failed ? broken : null,
    });
    expect(durationMs, operation).toBe(operation === "timeouts.onScheduled" ? 0 : 7);
  }
  listens = false;
  await callAll();
  expect(calls).toHaveLength(OPERATIONS_BY_NAME.size);
});

test("a node reports its own calls to its listeners, and shares the polls of waiting callers with the process", async () => {
  const shared = memoryStore();
  await using node = await createNode({ store: shared, programs: [] });
  const called = new Promise((resolve) => node.on("store.called", resolve));
  await node.queues.list();
  expect(await called).toMatchObject({
    operation: "queues.list",
    outcome: "answered",
    node: { identity: node.identity },
  });
  const world = systemWorld();
  const reported = reportedStore(shared, { world, listens: () => true, called: () => {} });
  expect(runWatcher(reported, world)).toBe(runWatcher(shared, world));
});

test("the page of all operations says what the table does", async () => {
  const page = join(import.meta.dirname, "../../docs/internals/store-operations.md");
  await expect(describeOperations()).toMatchFileSnapshot(page);
});
