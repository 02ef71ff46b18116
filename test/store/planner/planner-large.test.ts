// A million ended runs and two hundred thousand that wait: no hot statement reads a table in whole.

import { expect, test } from "vitest";
import { claimFrom, group, scene } from "../scene.js";
import { expectGoodPlans } from "./planner-check.js";
import { analyze, fill, withoutAutovacuum } from "./planner-tables.js";

const s = scene();

test("hot statements read only their rows among 1,000,000 ended and 200,000 waiting runs", async () => {
  await withoutAutovacuum(s.pool, s.schema);
  await fill(s.pool, s.schema, { ended: 1_000_000, waiting: 200_000 });
  await analyze(s.pool, s.schema);
  await expectGoodPlans(s.pool, s.url, s.dialect);

  const startedAt = performance.now();
  const claimed = await claimFrom(s.store, group("q1", { program: "p" }), { limit: 100 });
  expect(claimed).toHaveLength(100);
  expect(performance.now() - startedAt).toBeLessThan(1000);
}, 240_000);
