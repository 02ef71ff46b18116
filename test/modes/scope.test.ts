// Every operation stays in its env: whatever env B does, at its most impatient, no row of env A changes and no answer names one.

import { describe, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { OPERATIONS_BY_NAME } from "../../src/store/operations.js";
import { Dice } from "../store/differential/dice.js";
import { snapshotMemory } from "../store/differential/snapshot-memory.js";
import { snapshotPostgres } from "../store/differential/snapshot-postgres.js";
import { scene } from "../store/scene.js";
import { Place } from "./scope-place.js";
import { OPERATIONS } from "./scope-table.js";

const A = "aaaaaaaa";
const isOfA = (value: unknown) => (JSON.stringify(value) ?? "").includes(A);

/** All rows of A, and what its nodes serve and declare. */
async function digest(store: Store, a: Place, snapshot: () => Promise<object>): Promise<string[]> {
  const rows = Object.entries(await snapshot()).flatMap(([table, found]) =>
    (found as unknown[]).filter(isOfA).map((row) => `${table} ${JSON.stringify(row)}`),
  );
  const [nodes, limits] = [await store.nodes.list({ env: a.env }), await store.runs.limitsOf(a.group())];
  const kept = nodes.map(({ serves, claims, overruled }) => ({ serves, claims, overruled }));
  return [...rows, JSON.stringify({ kept, limits })];
}

async function walk(store: Store, seed: number, snapshot: () => Promise<object>, pass: () => Promise<void>) {
  const dice = new Dice(seed);
  const [a, b] = [new Place(A, dice), new Place("bbbbbbbb", dice)];
  await a.fill(store);
  await b.fill(store);
  await pass();
  const names = [...OPERATIONS_BY_NAME.keys()].filter((name) => OPERATIONS[name].call !== null);
  // Each at least once, in another order in each history.
  const order = [...names, ...names].map((name) => ({ name, at: dice.int(0, 1_000_000) })).sort((x, y) => x.at - y.at);
  let before = await digest(store, a, snapshot);
  expect(before.length, "rows of A").toBeGreaterThan(30);
  for (const { name } of order) {
    const { scope, call } = OPERATIONS[name];
    const answer = await call!(store, b);
    const isTold =
      scope === "names" ? !(answer as string[]).every((one) => [a.env, b.env].includes(one)) : isOfA(answer);
    expect({ seed, name, tellsOfA: isTold }).toEqual({ seed, name, tellsOfA: false });
    const after = await digest(store, a, snapshot);
    const isSame = after.join() === before.join();
    if (!isSame && scope !== "neutral") expect({ seed, name, rows: after }).toEqual({ seed, name, rows: before });
    before = after;
  }
}

describe("the walk", () => {
  test("on the memory store", async () => {
    for (let seed = 1; seed <= 4; seed++) {
      let now = 1_800_000_000_000;
      const store = memoryStore({ world: { ...systemWorld(), wallNow: () => now } });
      await walk(
        store,
        seed,
        async () => snapshotMemory(store),
        async () => {
          now += 1_000;
        },
      );
    }
  });

  const s = scene();
  test("on PostgreSQL", { timeout: 120_000 }, async () => {
    const pass = () => new Promise<void>((resolve) => setTimeout(resolve, 50));
    await walk(s.store, 1, () => snapshotPostgres(s.pool, s.schema), pass);
  });
});
