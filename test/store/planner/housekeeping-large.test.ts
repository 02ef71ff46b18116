// Housekeeping in a large installation: young runs are not read, and messages of runs that are not parked cost one window.
//
// Without statistics and with them: planner luck is not part of the design.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanRuns } from "../../../src/store/postgres/clean-retained.js";
import type { Statement } from "../../../src/store/postgres/connection/dialect.js";
import { MAIL_WINDOW, wakeParked } from "../../../src/store/postgres/inbox/wake-parked.js";
import { archiveRuns, pruneRuns } from "../../../src/store/postgres/run/retain-runs.js";
import { group, scene } from "../scene.js";
import { explain } from "./planner-explain.js";
import { withoutAutovacuum } from "./planner-tables.js";

const DAY_MS = 86_400_000;
const s = scene();
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: s.url });
  await client.connect();
  await client.query(`set search_path = ${s.schema}`);
  await withoutAutovacuum(s.pool, s.schema);
});
afterAll(() => client.end());

/** The most rows of these tables that a statement reads, however it is planned. */
async function mostRead(statement: Statement, values: unknown[], ...tables: string[]): Promise<number> {
  const read: number[] = [];
  for (const mode of ["force_custom_plan", "force_generic_plan"] as const) {
    const { rows } = await explain(client, s.text(statement), values, mode);
    read.push(tables.reduce((sum, table) => sum + (rows[table] ?? 0), 0));
  }
  return Math.max(...read);
}

const runsOf = (env: string, count: number, columns: Record<string, string>) =>
  client.query(`insert into runs (id, claim_group, priority, available_at, crash_limit, created_at, ${Object.keys(columns)})
    select gen_random_uuid(), (select id from claim_groups where env = '${env}'), 0, now(), 5, now(), ${Object.values(columns)}
    from generate_series(1, ${count}) n`);

describe("300,000 ended runs with random ids, few of them old and not archived yet", () => {
  const [FEW, LIMIT] = [3, 100];

  beforeAll(async () => {
    await s.store.runs.groupIds([group(), group("work", { env: "other" })]);
    const ended = (state: string, days: number, archived = "null") => ({
      state: `'${state}'`,
      ended_at: `now() - interval '${days} days'`,
      archived_at: archived,
    });
    await runsOf("test", 200_000, ended("completed", 0));
    await runsOf("test", 60_000, ended("completed", 5, "now()"));
    await runsOf("other", 40_000, ended("completed", 9));
    await runsOf("test", FEW, ended("failed", 5));
    await runsOf("test", FEW, ended("completed", 40, "now()"));
  }, 120_000);

  for (const analyzed of [false, true]) {
    test(`archive and prune read what they take, ${analyzed ? "analyzed" : "never analyzed"}`, async () => {
      if (analyzed) await client.query("analyze runs, claim_groups");
      const age = (env: string, days: number) => [env, days * DAY_MS, LIMIT, null, null, null, null];
      const ages = (env: string, days: number) => [env, Array(5).fill(days * DAY_MS), LIMIT];
      const read = {
        "archive, few": await mostRead(archiveRuns, age("test", 2), "runs"),
        "archive, none": await mostRead(archiveRuns, age("test", 50), "runs"),
        "archive, an unknown env": await mostRead(archiveRuns, age("none", 0), "runs"),
        "prune, few": await mostRead(pruneRuns, age("test", 30), "runs"),
        "prune, none": await mostRead(pruneRuns, age("test", 50), "runs"),
        "retain, few": await mostRead(cleanRuns, ages("test", 30), "runs"),
        "retain, none": await mostRead(cleanRuns, ages("test", 50), "runs"),
        "retain, an unknown env": await mostRead(cleanRuns, ages("none", 0), "runs"),
        "retain, many": await mostRead(cleanRuns, ages("test", 0), "runs"),
        "archive, many": await mostRead(archiveRuns, age("test", 0), "runs"),
        "prune, many": await mostRead(pruneRuns, age("test", 0), "runs"),
      };
      for (const [what, rows] of Object.entries(read)) {
        expect({ what, rows, bounded: rows <= 8 * (what.endsWith("many") ? LIMIT : FEW) }).toMatchObject({
          bounded: true,
        });
      }
    }, 20_000);
  }

  test("the few failed ones and the archived ones are listed without reading the others", async () => {
    const list = async (filter: object) => {
      const startedAt = performance.now();
      const { runs } = await s.store.runs.list({ env: "test", ...filter }, { limit: 1000 });
      expect(performance.now() - startedAt).toBeLessThan(1000);
      return runs.length;
    };
    expect(await list({ states: ["failed", "dead"] })).toBe(FEW);
    expect(await list({ env: "other", archived: true })).toBe(0);
    expect(await list({ archived: true })).toBe(1000);
  });

  test("one call archives them, and one call prunes them", async () => {
    expect(await s.store.runs.archive({ env: "test", endedBeforeMs: 2 * DAY_MS, limit: LIMIT })).toBe(FEW);
    expect(await s.store.runs.archive({ env: "test", endedBeforeMs: 2 * DAY_MS, limit: LIMIT })).toBe(0);
    expect(await s.store.runs.prune({ env: "test", endedBeforeMs: 30 * DAY_MS, limit: LIMIT })).toBe(FEW);
    expect(await s.store.runs.prune({ env: "test", endedBeforeMs: 30 * DAY_MS, limit: LIMIT })).toBe(0);
  });
});

describe("150,000 unread messages, most of them of runs that wait for a worker", () => {
  const PARKED = 40;
  const SLEEPERS = 20_000;

  beforeAll(async () => {
    await client.query("truncate runs, inbox");
    await runsOf("test", 50_000, { state: "'waiting'" });
    await runsOf("test", SLEEPERS, { state: "'parked'", wake_at: "now() + interval '1 day'" });
    await runsOf("test", PARKED, { state: "'parked'", wake_after: "2" });
    await runsOf("test", PARKED, { state: "'completed'", ended_at: "now()" });
    const mail = (count: number, of: string, kind: string) =>
      client.query(`insert into inbox (run_id, key, message_id, kind, name, at)
        select id, '${kind}:' || n, id, '${kind}', 'go', now() from runs, generate_series(1, ${count}) n where ${of}`);
    await mail(3, "state = 'waiting'", "signal");
    await mail(2, "state = 'parked' and wake_at is null", "child");
    await mail(1, "state = 'completed'", "signal");
  }, 120_000);

  for (const analyzed of [false, true]) {
    test(`one call reads a window of them, ${analyzed ? "analyzed" : "never analyzed"}`, async () => {
      if (analyzed) await client.query("vacuum analyze runs, inbox");
      // A step for each run of the window, a look at the run, what is counted or closed of them.
      expect(await mostRead(wakeParked, [100], "inbox", "runs")).toBeLessThan(3 * MAIL_WINDOW);
    }, 20_000);
  }

  test("round after round every run with a message wakes, messages of ended runs are closed, and the cursor starts again", async () => {
    const open = async () => ({
      asleep: (await s.store.runs.count({ env: "test", states: ["parked"] })).parked ?? 0,
      stray: (
        await s.rows<{ n: number }>(
          "select count(*)::int as n from {s}.inbox i join {s}.runs r on r.id = i.run_id where ended_at is not null and taken_seq is null",
        )
      )[0]!.n,
    });
    const rounds = Math.ceil((50_000 + 2 * PARKED) / MAIL_WINDOW) + 1;
    for (let turn = 1; turn <= 2; turn++) {
      let woken = 0;
      let slowest = 0;
      for (let round = 0; round < rounds; round++) {
        const startedAt = performance.now();
        woken += await s.store.runs.wakeParked({ limit: 100 });
        slowest = Math.max(slowest, performance.now() - startedAt);
      }
      expect({ woken, ...(await open()) }).toEqual({
        woken: turn === 1 ? PARKED : 1,
        asleep: SLEEPERS - turn + 1,
        stray: 0,
      });
      expect(slowest).toBeLessThan(1000);
      // One more, anywhere.
      await client.query(`insert into inbox (run_id, key, message_id, kind, name, at)
        select id, 'signal:x', id, 'signal', 'go', now() from runs where state = 'parked' order by random() limit 1`);
    }
  }, 20_000);

  test("a run with more messages than a window holds neither stops the round nor is judged by a part of them", async () => {
    await client.query("truncate runs, inbox");
    await runsOf("test", 3, { state: "'parked'", wake_after: `${MAIL_WINDOW + 2000}` });
    await client.query(`insert into inbox (run_id, key, message_id, kind, name, at)
      select id, 'child:' || n, id, 'child', 'completed', now()
      from (select id from runs order by id limit 2) r, generate_series(1, ${MAIL_WINDOW + 1000}) n`);
    const wake = () => s.store.runs.wakeParked({ limit: 100 });
    expect([await wake(), await wake(), await wake(), await wake()]).toEqual([0, 0, 0, 0]);
    await client.query(`insert into inbox (run_id, key, message_id, kind, name, at)
      select id, 'wait:z', id, 'decision', 'go', now() from runs`);
    expect((await wake()) + (await wake()) + (await wake()) + (await wake())).toBe(3);
  }, 20_000);
});

test("archive and prune read what they take, with statistics from before the first run ended", async () => {
  const LIMIT = 100;
  await client.query("truncate runs, inbox");
  await runsOf("test", 5_000, { state: "'parked'" });
  await client.query("analyze runs");
  await runsOf("test", 20_000, { state: "'completed'", ended_at: "now()" });
  const all = ["test", 0, LIMIT, null, null, null, null];
  expect(await mostRead(archiveRuns, all, "runs")).toBeLessThanOrEqual(4 * LIMIT);
  expect(await mostRead(pruneRuns, all, "runs")).toBeLessThanOrEqual(4 * LIMIT);
  expect(await mostRead(cleanRuns, ["test", Array(5).fill(0), LIMIT], "runs")).toBeLessThanOrEqual(4 * LIMIT);
}, 20_000);
