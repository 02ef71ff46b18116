// The memory store keeps the store's contract; also what only it can show: a gap in a journal, foreign transactions.

import { describe, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { World } from "../../src/kernel/world.js";
import {
  memoryStore,
  memoryTransaction,
  TransactionConflict,
  TransactionEnded,
  TransactionUnsupported,
} from "../../src/store/memory/index.js";
import { tablesOf } from "../../src/store/memory/table/open-stores.js";
import { Scene } from "../../src/testing/conformance/scene.js";
import { type StoreHarness, storeConformance } from "../../src/testing/index.js";
import { expectEveryOperation, recordOperations } from "../harness/recorded-operations.js";
import { snapshotMemory } from "../store/differential/snapshot-memory.js";

function memoryHarness(): StoreHarness {
  let nowMs = 1_700_000_000_000;
  const world: World = { ...systemWorld(), wallNow: () => nowMs };
  const store = memoryStore({ world });
  return {
    store,
    async transaction(fn, end) {
      const tx = memoryTransaction(store);
      const result = await fn(tx);
      tx[end]();
      return result;
    },
    async advance(ms) {
      nowMs += ms;
    },
  };
}

const shared = memoryHarness();
const called = new Set<string>();
recordOperations(shared.store, called);

for (const group of new Set(storeConformance.map((one) => one.group))) {
  describe(group, () => {
    for (const one of storeConformance.filter((other) => other.group === group)) {
      test(one.name, () => one.run(shared));
    }
  });
}

test("the suite calls every operation of the contract", () => {
  expectEveryOperation(called, { close: "the store is the caller's to close" });
});

describe("the memory store alone", () => {
  test("a missing entry is JournalCorrupt, never skipped over", async () => {
    const scene = new Scene(memoryHarness());
    const claim = await scene.start();
    await scene.accept(claim, [{ kind: "append", entry: { kind: "step", name: "a" } }, { kind: "handBack" }]);
    tablesOf(scene.store).journal.get(claim.runId)?.delete(2);
    const corrupt = { code: "JOURNAL_CORRUPT", missingSeq: 2 };
    await expect(scene.store.journal.read(claim.runId)).rejects.toMatchObject(corrupt);
    await expect(scene.store.journal.read(claim.runId, { limit: 1 })).resolves.toMatchObject({ seq: 3 });
    await expect(scene.store.journal.read(claim.runId, { after: 2 })).resolves.toMatchObject({ seq: 3 });
  });

  test("a transaction of another store is rejected", async () => {
    const scene = new Scene(memoryHarness());
    const run = scene.newRun();
    const foreign = { query: async () => ({ rows: [] }) };
    await expect(scene.store.runs.insert([run], { tx: foreign })).rejects.toThrow(TransactionUnsupported);
    const other = memoryTransaction(memoryHarness().store);
    await expect(scene.store.inbox.send([], { tx: other })).rejects.toThrow(TransactionUnsupported);
    await expect(memoryTransaction(scene.store).query("select 1", [])).rejects.toThrow(TransactionUnsupported);
  });

  test("an ended transaction accepts no more calls", async () => {
    const scene = new Scene(memoryHarness());
    const tx = memoryTransaction(scene.store);
    tx.rollback();
    await expect(scene.store.runs.insert([scene.newRun()], { tx })).rejects.toThrow(TransactionEnded);
    expect(() => tx.commit()).toThrow(TransactionEnded);
  });

  test("of two open transactions with one key the later commit is rolled back as a whole", async () => {
    const scene = new Scene(memoryHarness());
    const [a, b] = [memoryTransaction(scene.store), memoryTransaction(scene.store)];
    const [first, second, beside] = [
      scene.newRun({ key: scene.newKey() }),
      scene.newRun({ key: scene.newKey() }),
      scene.newRun(),
    ];
    await scene.store.runs.insert([first], { tx: a });
    await scene.store.runs.insert([beside, second], { tx: b });
    a.commit();
    expect(() => b.commit()).toThrow(TransactionConflict);
    expect(await scene.store.runs.get(beside.id)).toBeNull();
    expect(await scene.store.runs.count({ env: scene.env })).toEqual({ waiting: 1 });
  });

  test("a snapshot holds every row, sorted, and no reference to one", async () => {
    const scene = new Scene(memoryHarness());
    const claim = await scene.start({ key: scene.newKey() });
    await scene.store.inbox.send([scene.message(claim.runId, { key: "signal:1" })]);
    await scene.accept(claim, [{ kind: "take", messageKey: "signal:1" }]);
    await scene.store.leases.acquire({ env: scene.env, key: "l", owner: "o", token: scene.token(), leaseMs: 5 });
    const snapshot = snapshotMemory(scene.store);
    expect(snapshot.runs).toMatchObject([{ id: claim.runId, token: claim.token, state: "running", wakeAfter: 1 }]);
    expect(snapshot.journal.map(({ seq, token }) => [seq, token])).toEqual([
      [1, null],
      [2, claim.token],
    ]);
    expect(snapshot.inbox).toMatchObject([{ key: "signal:1", takenSeq: 2 }]);
    expect(snapshot.keys).toMatchObject([{ key: "k", runId: claim.runId, lifetime: "live", until: null }]);
    expect(snapshot.leases).toMatchObject([{ key: "l", state: "claimed", finishedToken: null }]);
    expect(snapshot.nodes).toEqual([]);
    Object.assign(snapshot.runs[0] ?? {}, { state: "dead" });
    expect(await scene.store.runs.get(claim.runId)).toMatchObject({ state: "running" });
  });
});
