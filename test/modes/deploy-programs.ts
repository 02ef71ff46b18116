// The actor of the deployment tests: an expectation for each recovery policy, a limit for all of them, three steps with a
// checkpoint after the first; each step records that it was executed.

import type pg from "pg";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { strategy } from "../../src/actor/strategy.js";

export const POLICIES = ["resume", "restart", "fail"] as const;
export const STEP_MS = 30;
/** On all processes together; less than they have slots. */
export const MOST_AT_ONCE = 9;

export const tableSql = (schema: string) =>
  `create table if not exists ${schema}.done (run text, step text, by text, at timestamptz default clock_timestamp())`;

export function deployed(pool: pg.Pool, schema: string, by: string) {
  const does = (step: string) => async (_step: unknown, run: string) => {
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    await pool.query(`insert into ${schema}.done (run, step, by) values ($1, $2, $3)`, [run, step, by]);
  };
  const moves = strategy({
    steps: { one: does("one"), two: does("two"), three: does("three") },
    init: (_step, run: string) => ({ run, at: 0 }),
    next: ({ run, at }) => {
      if (at === 0) return { do: "call", name: "one", args: run };
      if (at === 1) return { do: "checkpoint" };
      if (at === 2) return { do: "call", name: "two", args: run };
      if (at === 3) return { do: "call", name: "three", args: run };
      return { do: "done", result: by };
    },
    handle: ({ run, at }) => ({ run, at: at + 1 }),
  });
  return actor("orders", {
    concurrency: MOST_AT_ONCE,
    expectations: {
      resume: expectation({ recovery: "resume" }, moves),
      restart: expectation({ recovery: "restart" }, moves),
      fail: expectation({ recovery: "fail" }, moves),
    },
  });
}
