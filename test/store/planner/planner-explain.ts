// What the planner does with a prepared statement: which tables it reads in whole, and how many rows of each.

import type pg from "pg";
import { literals } from "../../../src/store/postgres/connection/array-literal.js";

export type PlanMode = "force_custom_plan" | "force_generic_plan";

export interface Reading {
  /** Tables that were read by a sequential scan. */
  readonly whole: readonly string[];
  /** Rows looked at per table, those that a filter threw away included. */
  readonly rows: Readonly<Record<string, number>>;
  /** Rows that any step of the plan looked at: a batch joined to itself row by row shows here. */
  readonly work: number;
  /** For the message of a failing test. */
  readonly plan: string;
}

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly Node[];
}

/** Executes the statement and rolls it back. */
export async function explain(
  client: pg.ClientBase,
  text: string,
  values: unknown[],
  mode: PlanMode,
): Promise<Reading> {
  await client.query(`set plan_cache_mode = ${mode}`);
  await client.query(`prepare p as ${text}`);
  try {
    return await explainPrepared(client, "p", values);
  } finally {
    await client.query("deallocate p");
  }
}

/** The same for a statement that is already prepared, with its plan. */
export async function explainPrepared(client: pg.ClientBase, name: string, values: unknown[]): Promise<Reading> {
  await client.query("begin");
  try {
    const args = values.length > 0 ? `(${values.map(literal).join(", ")})` : "";
    const { rows } = await client.query(`explain (analyze, timing off, format json) execute ${name}${args}`);
    return readingOf(rows[0]["QUERY PLAN"][0].Plan);
  } finally {
    await client.query("rollback");
  }
}

function readingOf(root: Node): Reading {
  const whole: string[] = [];
  const rows: Record<string, number> = {};
  let work = 0;
  const visit = (node: Node) => {
    const thrownAway = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0);
    work += ((node["Actual Rows"] ?? 0) + thrownAway) * (node["Actual Loops"] ?? 0);
    const table = node["Relation Name"];
    if (table !== undefined && node["Node Type"].includes("Scan")) {
      const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
      const loops = node["Actual Loops"] ?? 0;
      rows[table] = (rows[table] ?? 0) + Math.round(((node["Actual Rows"] ?? 0) + removed) * loops);
      if (node["Node Type"] === "Seq Scan" && loops > 0) whole.push(table);
    }
    for (const child of node.Plans ?? []) visit(child);
  };
  visit(root);
  return { whole, rows, work: Math.round(work), plan: JSON.stringify(root, null, 1) };
}

/** As an untyped literal: the prepared statement knows the type. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return `'${String(literals([value])[0]).replaceAll("'", "''")}'`;
}
