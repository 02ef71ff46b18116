// Lists and repairs with 100,000 runs and 2,000 groups without any statistics: a restored dump, a first hour.
// They are judged by the time after which the store gives them up: with a bad plan, they take several times as long.

import { beforeAll, expect, test } from "vitest";
import { scene } from "../scene.js";
import { withoutAutovacuum } from "./planner-tables.js";

const s = scene();
/** 60 ms and 2 s for a repair; 10 and 300 ms and more than 10 s for a page. */
const store = (queryTimeout: "800ms" | "1500ms" = "1500ms") => s.open({ queryTimeout, retryFor: "1ms" });

beforeAll(async () => {
  await withoutAutovacuum(s.pool, s.schema);
  await s.rows(`
    insert into {s}.claim_groups (id, env, stack, queue, program, version)
    select g, case when g <= 50 then 'full' else 'empty' end, '', 'q' || g % 20, 'p' || g, '' from generate_series(1, 2000) g`);
  await s.rows(`
    insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at, parent_id)
    select ('018f' || lpad(to_hex(g), 8, '0') || '70008000000000000000')::uuid, 1 + g % 50, 0,
      case when g % 40 = 2 then 'waiting' else 'completed' end, now(), 3, now(), case when g % 40 <> 2 then now() end,
      case when g % 3 = 0 then ('018f' || lpad(to_hex(g - 1), 8, '0') || '70008000000000000000')::uuid end
    from generate_series(1, 100000) g`);
  await s.rows(`
    insert into {s}.instances (key, claim_group, id, input_hash, redact, created_at, seq, snapshot_seq, status, updated_at, value, codec, data)
    select ('028f' || lpad(to_hex(g), 8, '0') || '70008000000000000000')::uuid, 1 + g % 50, 'i' || g, 'h', '[]',
      now() - g * interval '1 second', 1, 1, 'active', now(), 'a', 'json', '{}' from generate_series(1, 50000) g`);
}, 60_000);

test("pages of runs: of an env, of the next page, of a program and a state, of an env that has none", async () => {
  const { runs } = store();
  const first = await runs.list({ env: "full" }, { limit: 50 });
  const second = await runs.list({ env: "full" }, { limit: 50, before: first.next! });
  expect([first.runs.length, second.runs.length]).toEqual([50, 50]);
  expect(second.runs[0]!.id < first.runs.at(-1)!.id).toBe(true);
  const some = await runs.list({ env: "full", program: "p3", queue: "q3", states: ["waiting"] }, { limit: 5 });
  expect(some.runs.map(({ group, state }) => [group.program, state])).toEqual(Array(5).fill(["p3", "waiting"]));
  expect((await runs.list({ env: "empty" }, { limit: 50 })).runs).toEqual([]);
});

test("pages of instances, and the next one", async () => {
  const { machines } = store();
  const first = await machines.list({ env: "full" }, { limit: 20 });
  const second = await machines.list({ env: "full", machine: "p3" }, { limit: 20, before: first.next! });
  expect([first.instances.length, second.instances.length]).toEqual([20, 20]);
});

test("a count, and a repair of one env", async () => {
  const { runs } = store();
  expect(await runs.count({ env: "full" })).toEqual({ completed: 97_500, waiting: 2500 });
  expect(await store("800ms").runs.reconcile({ env: "full" })).toMatchObject({ replayed: 0 });
});
