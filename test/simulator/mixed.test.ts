// All kinds of work at once under seeded faults, with points of the code bent: every invariant holds, everything that must happen
// happens, and the same seed is the same history.
//
// HOLDFAST_MIXED_SEEDS=2000 simulates 2,000 histories here, and as many in more-mixed.test.ts.

import { expect, test } from "vitest";
import type { World } from "../../src/kernel/world.js";
import { missingMarks } from "../../src/simulator/marks.js";
import { simulate } from "../../src/simulator/simulate.js";
import { MIXED } from "../../src/simulator/workload/mixed-workload.js";
import type { Commit } from "../../src/store/contract/claim/commits.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { rememberStore, tablesOf } from "../../src/store/memory/table/open-stores.js";
import kept from "./mixed-seeds.json" with { type: "json" };
import { expectSound, MIXED_SEEDS, range } from "./seeds.js";

test(`the first ${MIXED_SEEDS} mixed seeds hold every invariant, and hit every mark`, {
  timeout: 900_000,
}, async () => {
  const tally = await expectSound(range(1, MIXED_SEEDS), MIXED, "--mixed ");
  expect(missingMarks(tally)).toEqual([]);
});

test.for(kept.map(({ seed, found }) => [found, seed] as const))(
  "%s does not recur (mixed seed %i)",
  { timeout: 60_000 },
  async ([, seed]) => void (await expectSound([seed], MIXED, "--mixed ")),
);

test("a mixed seed has one history", { timeout: 60_000 }, async () => {
  const [one, two] = [await simulate(3, MIXED), await simulate(3, MIXED)];
  expect(two.hash).toBe(one.hash);
  expect((await simulate(4, MIXED)).hash).not.toBe(one.hash);
});

test("a store that loses a fence among all kinds of work is caught", { timeout: 120_000 }, async () => {
  const openStore = (world: World): Store => {
    const store = memoryStore({ world });
    const tables = tablesOf(store);
    /** Under the claim that is held now, also from a holder that has lost it. */
    const unfenced = (commit: Commit): Commit => {
      const { epoch, token = null, seq = 0 } = tables.runs.get(commit.claim.runId) ?? {};
      return token === null
        ? commit
        : { ...commit, claim: { ...commit.claim, epoch: epoch!, token }, expectedSeq: seq };
    };
    const commit: Store["runs"]["commit"] = (commits) => store.runs.commit(commits.map(unfenced));
    const broken = { ...store, runs: { ...store.runs, commit } };
    rememberStore(broken, tables);
    return broken;
  };
  const found = new Set<string>();
  for (const seed of range(1, 60)) {
    for (const { invariant } of (await simulate(seed, { ...MIXED, openStore })).violations) found.add(invariant);
    if (found.has("S4")) break;
  }
  expect(found).toContain("S4");
});

test("a mark that is not hit is named", () => {
  expect(missingMarks({})).toContain("fault failover");
  expect(missingMarks({})).toContain("bent claim.one");
  expect(missingMarks(Object.fromEntries(missingMarks({}).map((mark) => [mark, 1])))).toEqual([]);
});
