// Judges every hot statement at several batch sizes, planned with its values and without.

import pg from "pg";
import { expect } from "vitest";
import { OUR_STATEMENTS } from "../../../src/store/postgres/connection/connections.js";
import type { Dialect } from "../../../src/store/postgres/connection/dialect.js";
import { explain, explainPrepared, type PlanMode, type Reading } from "./planner-explain.js";
import { type HotStatement, hotStatements } from "./planner-tables.js";

const MODES: readonly PlanMode[] = ["force_custom_plan", "force_generic_plan"];
const BATCHES = [1, 25, 500];
/** Rows of `runs` per row of the batch, and what a few look-ups more may cost. */
const PER_ROW = 4;
const BESIDES = 20;
/** Rows that pass through all steps of the plan: linear in the batch, never its square (at 500: 250,000). */
const WORK_PER_ROW = 60;
const WORK_BESIDES = 1000;
/** A row per paused queue, read in whole by every claim and most often empty; a row per database of the server. */
const TINY = ["paused_queues", "pg_database"];

export async function expectGoodPlans(pool: pg.Pool, url: string, dialect: Dialect): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found: string[] = [];
  try {
    for (const batch of BATCHES) {
      for (const hot of await hotStatements(pool, batch)) {
        for (const mode of MODES) {
          const reading = await explain(client, hot.statement.text(dialect), hot.values, mode);
          found.push(...faultsOf(hot, batch, reading).map((fault) => `${mode}: ${fault}`));
        }
      }
    }
  } finally {
    await client.end();
  }
  expect(found).toEqual([]);
}

/** The plans that a connection of a store makes now are judged after `grow`: the tables were not analyzed since. */
export async function expectPlansStayGood(
  pool: pg.Pool,
  url: string,
  dialect: Dialect,
  grow: () => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found: string[] = [];
  const batch = 25;
  try {
    await client.query(OUR_STATEMENTS);
    // As on every connection of a store: what is switched off only becomes very expensive, and the expensive is compiled.
    await client.query("set jit = off");
    for (const { statement, values } of await hotStatements(pool, batch)) {
      await client.query(`prepare ${statement.name} as ${statement.text(dialect)}`);
      await explainPrepared(client, statement.name, values);
    }
    await grow();
    for (const hot of await hotStatements(pool, batch)) {
      found.push(...faultsOf(hot, batch, await explainPrepared(client, hot.statement.name, hot.values)));
    }
  } finally {
    await client.end();
  }
  expect(found).toEqual([]);
}

function faultsOf({ statement, alsoReads, readsWhole = [] }: HotStatement, batch: number, reading: Reading): string[] {
  const name = `${statement.name}, batch ${batch}`;
  const read = reading.rows["runs"] ?? 0;
  if (process.env["HOLDFAST_SHOW_PLANS"] === statement.name) console.log(name, reading.plan);
  const found: string[] = [];
  const whole = reading.whole.filter((table) => !TINY.includes(table) && !readsWhole.includes(table));
  if (whole.length > 0) found.push(`${name}: reads all of ${whole.join(", ")}`);
  if (reading.work > WORK_PER_ROW * (batch + alsoReads) + WORK_BESIDES) {
    found.push(`${name}: ${reading.work} rows pass through its plan`);
  }
  if (read > PER_ROW * batch + alsoReads + BESIDES) found.push(`${name}: reads ${read} rows of runs`);
  return found;
}
