// What the database itself refuses: illegal moves, a token without a claim; and what the schema keeps small.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  LEGAL_MOVES,
  REOPEN_NEEDS_GENERATION,
  REOPENED_WITH_DAG,
  RUN_STATES,
  type RunState,
} from "../../src/kernel/run/run-state.js";
import { scene } from "./scene.js";

const s = scene();

/** A row in a state, with a token exactly when running. */
async function rowIn(state: RunState): Promise<string> {
  const id = randomUUID();
  const claim = state === "running" ? [randomUUID(), randomUUID()] : [null, null];
  await s.rows(
    `insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, token, owner, lease_until)
     values ($1, 1, 0, $2, now(), 5, now(), $3, $4, case when $3::uuid is null then null else now() end)`,
    [id, state, ...claim],
  );
  return id;
}

/** `task`: it is one again, and its end is to be counted. */
async function moves(from: RunState, to: RunState, newGeneration: boolean, task: boolean): Promise<boolean> {
  const id = await rowIn(from);
  const token = to === "running" ? randomUUID() : null;
  try {
    await s.rows(
      `update {s}.runs set state = $2, token = $3, owner = $3,
        lease_until = case when $3::uuid is null then null else now() end, generation = generation + $4, counts = $5 where id = $1`,
      [id, to, token, newGeneration ? 1 : 0, task],
    );
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "HF001", message: `run ${id}: ${from} to ${to} is not a legal move` });
    return false;
  }
}

test("the database accepts exactly the moves of the kernel's table, for every pair of states", async () => {
  for (const [newGeneration, task] of [
    [false, false],
    [true, false],
    [true, true],
  ] as const) {
    for (const from of RUN_STATES) {
      const accepted: RunState[] = [];
      for (const to of RUN_STATES) {
        if (to !== from && (await moves(from, to, newGeneration, task))) accepted.push(to);
      }
      const closed =
        (REOPEN_NEEDS_GENERATION.includes(from) && !newGeneration) || (REOPENED_WITH_DAG.includes(from) && !task);
      const legal = closed ? [] : [...LEGAL_MOVES[from]];
      const seen = { from, newGeneration, task };
      expect({ ...seen, to: accepted.sort() }).toEqual({ ...seen, to: legal.sort() });
    }
  }
});

test("no state but running has a token, an owner or a lease, and running has all three", async () => {
  for (const state of RUN_STATES) {
    const id = await rowIn(state);
    const change =
      state === "running"
        ? "token = null, owner = null, lease_until = null"
        : "token = $2, owner = $2, lease_until = now()";
    const values = state === "running" ? [id] : [id, randomUUID()];
    await expect(s.rows(`update {s}.runs set ${change} where id = $1`, values)).rejects.toMatchObject({
      code: "23514",
      constraint: "run_token_only_while_running",
    });
  }
  const running = await rowIn("running");
  for (const column of ["owner", "lease_until"]) {
    const half = s.rows(`update {s}.runs set ${column} = null where id = $1`, [running]);
    await expect(half).rejects.toMatchObject({ code: "23514", constraint: "run_claim_is_whole" });
  }
});

test("an ended task is always counted, and only a running run can have a pending pause", async () => {
  const waiting = await rowIn("waiting");
  await expect(
    s.rows("update {s}.runs set state = 'cancelled', ended_at = now(), counts = true where id = $1", [waiting]),
  ).rejects.toMatchObject({ constraint: "run_end_is_counted" });
  await expect(s.rows("update {s}.runs set pausing = true where id = $1", [waiting])).rejects.toMatchObject({
    constraint: "run_pauses_while_running",
  });
});

test("only a parked run has a time to wake, and an unknown state is refused", async () => {
  const waiting = await rowIn("waiting");
  await expect(s.rows("update {s}.runs set wake_at = now() where id = $1", [waiting])).rejects.toMatchObject({
    constraint: "run_wakes_only_from_parked",
  });
  await expect(rowIn("asleep" as RunState)).rejects.toMatchObject({ code: "23514", constraint: "run_state_known" });
});

test("a run enters at most two indexes with each state, none on the lease; no table has a foreign key", async () => {
  const indexes = await s.rows<{ indexdef: string }>(
    "select indexdef from pg_indexes where schemaname = $1 and tablename = 'runs'",
    [s.schema],
  );
  const entered = (state: string) =>
    indexes.filter(({ indexdef }) => {
      if (/ended_at IS NOT NULL/.test(indexdef)) return ["completed", "failed", "quarantined"].includes(state);
      return indexdef.includes(`'${state}'`);
    });
  const states = ["waiting", "running", "parked", "held", "blocked", "paused", "completed", "failed", "quarantined"];
  for (const state of states) expect(entered(state).length, state).toBeLessThanOrEqual(2);
  for (const state of ["waiting", "running", "parked"]) expect(entered(state).length, state).toBe(1);
  for (const { indexdef } of indexes) expect(indexdef).not.toMatch(/\((priority|available_at|lease_until)|lease_until/);
  const keys = await s.rows(
    "select conname from pg_constraint where contype = 'f' and connamespace = (select oid from pg_namespace where nspname = $1)",
    [s.schema],
  );
  expect(keys).toEqual([]);
});

test("a renewal stays a HOT update", async () => {
  const id = await rowIn("running");
  const client = await s.pool.connect();
  try {
    await client.query("begin");
    await client.query(`update ${s.schema}.runs set lease_until = now() + interval '1 s' where id = $1`, [id]);
    const { rows } = await client.query("select pg_stat_get_xact_tuples_hot_updated($1::regclass)::int as hot", [
      `${s.schema}.runs`,
    ]);
    expect(rows).toEqual([{ hot: 1 }]);
    await client.query("rollback");
  } finally {
    client.release();
  }
});
