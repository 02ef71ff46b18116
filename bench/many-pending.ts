// What many pending rows cost a round of work: two schemas, one of them full, and rounds in turn on both.

import { randomUUID } from "node:crypto";
import type pg from "pg";
import { openPostgres } from "../src/store/postgres/open.js";
import { interleave, median } from "./measure.js";

export interface Place {
  readonly schema: string;
  readonly store: ReturnType<typeof openPostgres>;
}

export interface Side {
  readonly table: string;
  /** Milliseconds. */
  readonly round: () => Promise<number>;
  readonly fill: () => Promise<void>;
}

export async function manyPending(
  url: string,
  pool: pg.Pool,
  rounds: number,
  open: (place: Place) => Promise<Side>,
): Promise<{ readonly ratio: number; readonly fewMs: number; readonly manyMs: number }> {
  const places = [await place(url), await place(url)] as const;
  const [few, many] = [await open(places[0]), await open(places[1])];
  await many.fill();
  for (const [i, { table }] of [few, many].entries()) await pool.query(`vacuum analyze ${places[i]!.schema}.${table}`);
  // Flush what filling the table left in memory, so that no round pays for it.
  await pool.query("checkpoint");
  await interleave(Math.ceil(rounds / 2), many.round, few.round);
  const { ours, theirs, ratio } = await interleave(rounds, many.round, few.round);
  for (const { schema, store } of places) {
    await store.close();
    await pool.query(`drop schema ${schema} cascade`);
  }
  return { ratio: ratio.median, fewMs: median(theirs), manyMs: median(ours) };
}

async function place(url: string): Promise<Place> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  return { schema, store };
}
