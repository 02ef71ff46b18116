// W9: what a run, a step, an idle process and parked runs cost: time on cores, log, statements, memory.

import { setTimeout as pass } from "node:timers/promises";
import { untilAll } from "../host.js";
import type { Library, Program } from "../library/library.js";
import { median } from "../measure.js";
import { atMost, type Quantity } from "../report/figure.js";
import { countStatements, serverCpuUs, statements, walBytes } from "../server.js";
import type { Place, SideBySide } from "../side-by-side.js";
import { joined, type Work } from "./work.js";

const STEPS = 10;
const PARTS = [
  ["CPU of Node", "µs"],
  ["CPU of PostgreSQL", "µs"],
  ["log", "bytes"],
  ["statements", ""],
] as const;

const quantitiesOf = (per: string): Quantity[] =>
  PARTS.map(([name, unit]) => ({ name: `${name} per ${per}`, unit, better: "lower" }));

interface Meter {
  readonly node: number;
  readonly server: number;
  readonly wal: number;
  readonly statements: number;
}

async function read({ server, pool }: SideBySide, { hosts: [host] }: Place): Promise<Meter> {
  const { cpuUs } = await host!.call("usage");
  // What cannot be read counts as nothing; the note of the report says so.
  return {
    node: cpuUs,
    server: serverCpuUs(server) ?? 0,
    wal: await walBytes(pool),
    statements: (await statements(pool)) ?? 0,
  };
}

/** What one of `program`'s units costs: a run of `noop`, a step of `steps`. */
async function costOf(bench: SideBySide, library: Library, program: Program): Promise<number[]> {
  return bench.inPlace(library, {}, async (place) => {
    const count = bench.size(program === "steps" ? 2_000 : 10_000, library);
    await place.hosts[0]!.call("fill", { program, input: program === "steps" ? STEPS : null, count });
    await bench.settle(place);
    const before = await read(bench, place);
    await bench.drain(place, count, { concurrency: 50, purpose: "flight" });
    const after = await read(bench, place);
    const units = program === "steps" ? count * STEPS : count;
    return (["node", "server", "wal", "statements"] as const).map((part) => (after[part] - before[part]) / units);
  });
}

async function perUnit(bench: SideBySide, program: Program, unit: string) {
  const libraries = await bench.libraries(({ programs }) => programs.includes(program));
  return bench.contest(libraries, quantitiesOf(unit), (library) => costOf(bench, library, program));
}

/** Statements per second of a process without work, once its polls are as far apart as they get. */
async function idle(bench: SideBySide) {
  const libraries = await bench.libraries(({ name }) => name !== "sql");
  const [settleMs, ms] = bench.scale.name === "tiny" ? [100, 200] : [10_000, 5_000];
  const measure = (library: Library) =>
    bench.inPlace(library, {}, async ({ hosts: [host] }) => {
      await host!.call("work", { concurrency: 10, purpose: "latency" });
      await pass(settleMs);
      const before = (await statements(bench.pool)) ?? 0;
      await pass(ms);
      const after = (await statements(bench.pool)) ?? 0;
      await host!.call("rest");
      return [((after - before) * 1000) / ms];
    });
  // One round: it takes long and hardly varies.
  return bench.contest(libraries, [{ name: "statements of an idle process", unit: "/s", better: "lower" }], measure, 1);
}

/** How much more memory a process holds when it has begun and parked 10,000 runs. */
async function parked(bench: SideBySide) {
  const libraries = await bench.libraries(({ programs }) => programs.includes("parked"));
  const count = bench.size(10_000);
  const quantity = { name: `memory with ${count} parked runs`, unit: "MB", better: "lower" } as const;
  const measure = (library: Library) =>
    bench.inPlace(library, {}, async (place) => {
      const [host] = place.hosts;
      await host!.call("fill", { program: "parked", input: null, count });
      const before = await host!.call("usage");
      await host!.call("work", { concurrency: 500, purpose: "drain" });
      await untilAll([host!], () => host!.begun >= count);
      await pass(bench.scale.name === "tiny" ? 100 : 2_000);
      const after = await host!.call("usage");
      await host!.call("rest");
      return [(after.heldBytes - before.heldBytes) / 1e6];
    });
  return bench.contest(libraries, [quantity], measure, 1);
}

export const cost: Work = {
  name: "w9",
  title: "cost of a run and of a step",
  async run(bench) {
    await countStatements(bench.server, bench.pool, true);
    const steps = await perUnit(bench, "steps", "step");
    const parts = [await perUnit(bench, "noop", "run"), steps, await idle(bench), await parked(bench)];
    await countStatements(bench.server, bench.pool, false);
    const ours = median(steps.samples.get("statements per step")!.get("holdfast")!);
    const readable = serverCpuUs(bench.server) !== null && ours > 0;
    const report = joined(parts);
    return {
      ...report,
      gates: readable ? [atMost("statements per step, 50 in flight", Number(ours.toPrecision(3)), 0.2)] : [],
      notes: readable ? report.notes : [...report.notes, "Without pg_stat_statements or /proc, a part of these is 0."],
    };
  },
};
