// What costs something without work: parked runs on disk and in memory, idle nodes with their connections and statements.

import { setTimeout as pass } from "node:timers/promises";
import { connectionsOf } from "./capacity-load.js";
import { untilAll } from "./host.js";
import { countStatements, statements } from "./server.js";
import type { Place, SideBySide } from "./side-by-side.js";

const PARKED = 10_000;

/** How long polls take to be as far apart as they get, and how long statements are counted. */
function times({ scale }: SideBySide): { readonly settleMs: number; readonly ms: number } {
  if (scale.name === "tiny") return { settleMs: 100, ms: 200 };
  return scale.name === "quick" ? { settleMs: 2_000, ms: 2_000 } : { settleMs: 6_000, ms: 5_000 };
}

/** Null without pg_stat_statements. */
async function idleStatements(bench: SideBySide): Promise<number | null> {
  const { settleMs, ms } = times(bench);
  await pass(settleMs);
  const before = await statements(bench.pool);
  await pass(ms);
  const after = await statements(bench.pool);
  return before === null || after === null ? null : Number((((after - before) * 1000) / ms).toPrecision(3));
}

async function bytesOf({ pool }: SideBySide, { schema }: Place): Promise<number> {
  const text = `select sum(pg_total_relation_size(format('%I.%I', $1::text, name)::regclass))::float8 as bytes
    from unnest('{runs,journal,inbox}'::text[]) as name`;
  return (await pool.query<{ bytes: number }>(text, [schema])).rows[0]!.bytes;
}

async function inPlace<T>(bench: SideBySide, processes: number, work: (place: Place) => Promise<T>): Promise<T> {
  const [holdfast] = await bench.libraries(({ name }) => name === "holdfast");
  // Only sessions that begin now are counted.
  await countStatements(bench.server, bench.pool, true);
  try {
    return await bench.inPlace(holdfast!, { processes }, work);
  } finally {
    await countStatements(bench.server, bench.pool, false);
  }
}

export async function parkedRuns(bench: SideBySide) {
  const count = bench.size(PARKED);
  return inPlace(bench, 1, async (place) => {
    const host = place.hosts[0]!;
    const empty = await bytesOf(bench, place);
    await host.call("fill", { program: "parked", input: null, count });
    const before = await host.call("usage");
    await host.call("work", { concurrency: 500, purpose: "drain" });
    await untilAll([host], () => host.begun >= count);
    const perSecond = await idleStatements(bench);
    const after = await host.call("usage");
    await host.call("rest");
    const bytes = await bytesOf(bench, place);
    for (const name of ["runs", "journal", "inbox"]) await bench.pool.query(`vacuum full ${place.schema}.${name}`);
    const packed = await bytesOf(bench, place);
    return {
      count,
      bytesPerRun: Math.round((bytes - empty) / count),
      /** Without the room of row versions that are no longer needed. */
      packedBytesPerRun: Math.round((packed - empty) / count),
      nodeMb: Math.round(after.rssBytes / 1e6),
      addedMb: Number(((after.heldBytes - before.heldBytes) / 1e6).toPrecision(2)),
      idleStatementsPerSecond: perSecond,
    };
  });
}

export async function idleNodes(bench: SideBySide, nodes: number) {
  return inPlace(bench, nodes, async ({ hosts }) => {
    await Promise.all(hosts.map((host) => host.call("work", { concurrency: 10, purpose: "latency" })));
    const statementsPerSecond = await idleStatements(bench);
    const connections = await connectionsOf(bench.pool);
    await Promise.all(hosts.map((host) => host.call("rest")));
    return { nodes: hosts.length, connections, statementsPerSecond };
  });
}
