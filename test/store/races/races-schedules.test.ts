// Nodes that decide on the same window at the same moment: one of them fires it, with its runs or not at all.

import { expect, test } from "vitest";
import type { DeclaredSchedule, Fire, ScheduleRecord } from "../../../src/store/contract/schedule/schedules.js";
import { group, newRun, scene, shuffled } from "../scene.js";

const s = scene();
const nodes = [s.store, ...Array.from({ length: 5 }, () => s.open())];

async function declare(program: string, count: number): Promise<ScheduleRecord[]> {
  const schedules = Array.from({ length: count }, (_, i): DeclaredSchedule => {
    return { id: newRun().id, group: group(program), key: `every ${i + 1}s`, spec: "{}" };
  });
  const said = { env: "test", stack: null, programs: [program], schedules, removeAfterMs: null };
  const ids = await s.store.schedules.declare(said);
  return [...(await s.store.schedules.due(ids)).schedules];
}

/** The next window, with a key of its own, so that only the row prevents a second run; due again at once. */
function fireOf({ id, last, group: of }: ScheduleRecord): Fire {
  const run = newRun({ group: of });
  const key = { scope: "s", key: run.id, payloadHash: "h", lifetime: "archived", onMismatch: "skip" } as const;
  return { scheduleId: id, seenLast: last, last: last + 1000, next: 0, runs: [{ ...run, key }] };
}

const runsOf = async (program: string) => {
  const [row] = await s.rows<{ n: number }>(
    "select count(*)::int as n from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group where g.program = $1",
    [program],
  );
  return row!.n;
};

test("six nodes decide on forty windows of one schedule: each window has one run", async () => {
  let [row] = await declare("one", 1);
  for (let window = 1; window <= 40; window++) {
    const answers = await Promise.all(nodes.map((node) => node.schedules.fire([fireOf(row!)])));
    expect(answers.flat().filter(({ outcome }) => outcome === "fired")).toHaveLength(1);
    [row] = (await s.store.schedules.due([row!.id])).schedules;
    expect(await runsOf("one")).toBe(window);
  }
});

test("six nodes fire twenty schedules in different orders: no deadlock, and each fires once a round", async () => {
  const schedules = await declare("many", 20);
  for (let round = 1; round <= 15; round++) {
    const { schedules: rows } = await s.store.schedules.due(schedules.map(({ id }) => id));
    const told = await Promise.all(
      nodes.map((node, n) => node.schedules.fire(shuffled(rows, round * 10 + n).map(fireOf))),
    );
    const fired = told.flat().flatMap((answer) => (answer.outcome === "fired" ? answer.runIds : []));
    // A locked row is left to its holder, which may have found another one locked.
    expect(fired.length).toBeLessThanOrEqual(20);
    expect(fired.length).toBeGreaterThan(0);
    expect(new Set(fired).size).toBe(fired.length);
    const left = (await s.store.schedules.due(schedules.map(({ id }) => id))).schedules;
    const behind = left.filter(({ last }) => last < schedules[0]!.anchor + round * 1000);
    await s.store.schedules.fire(behind.map(fireOf));
    expect(await runsOf("many")).toBe(round * 20);
  }
});

test("a schedule whose runs cannot be stored stays where it was", async () => {
  const [row] = await declare("refused", 1);
  const fire = fireOf(row!);
  const poisoned = { ...fire, runs: [{ ...fire.runs[0]!, priority: 4711 }] };
  await s.pool.query(`alter table ${s.schema}.runs add constraint test_no_4711 check (priority <> 4711)`);
  await expect(s.store.schedules.fire([poisoned])).rejects.toMatchObject({ code: "DATA_REFUSED" });
  await s.pool.query(`alter table ${s.schema}.runs drop constraint test_no_4711`);
  expect((await s.store.schedules.due([row!.id])).schedules).toEqual([row]);
  expect(await s.store.schedules.fire([poisoned])).toMatchObject([{ outcome: "fired" }]);
  expect(await runsOf("refused")).toBe(1);
});

test("a locked row is skipped, and delays no other schedule", async () => {
  const [held, free] = await declare("locked", 2);
  const client = await s.pool.connect();
  await client.query("begin");
  await client.query(`select from ${s.schema}.schedules where id = $1 for update`, [held!.id]);
  const answers = await s.store.schedules.fire([fireOf(held!), fireOf(free!)]);
  await client.query("rollback");
  client.release();
  expect(answers.map(({ outcome }) => outcome)).toEqual(["moved", "fired"]);
  expect(await s.store.schedules.fire([fireOf(held!)])).toMatchObject([{ outcome: "fired" }]);
});
