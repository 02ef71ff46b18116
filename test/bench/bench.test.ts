// Every work of the benchmarks runs to its end on Holdfast alone, and its last line is one JSON object of a stated shape.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { benchCapacity } from "../../bench/capacity.js";
import type { AgainstOther, Figure, Gate } from "../../bench/report/figure.js";
import { WORKS } from "../../bench/workload/all.js";
import { compiled } from "../harness/compiled.js";

const ROOT = join(import.meta.dirname, "../..");

interface Output {
  readonly ok: boolean;
  readonly ratios: readonly (AgainstOther & { work: string })[];
  readonly figures: readonly (Figure & { work: string })[];
  readonly gates: readonly (Gate & { work: string })[];
}

async function bench(url: string, ...words: string[]) {
  const child = spawn(process.execPath, [compiled(join(ROOT, "bench/run.ts")), ...words], {
    cwd: ROOT,
    env: { ...process.env, HOLDFAST_BENCH_DATABASE_URL: url },
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  child.stderr.on("data", (data) => {
    errors += data;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output, errors };
}

describe("npm run bench", () => {
  const admin = new pg.Pool({ connectionString: inject("databaseUrl"), max: 1 }).on("error", () => {});
  const name = `bench_${randomBytes(4).toString("hex")}`;
  const own = new URL(inject("databaseUrl"));
  own.pathname = `/${name}`;

  // A database of its own: the works create many schemas.
  beforeAll(async () => {
    await admin.query(`create database ${name}`);
  });
  afterAll(async () => {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
  });

  test("runs every work at the smallest scale and prints one JSON object as its last line", {
    timeout: 120_000,
  }, async () => {
    const { code, output, errors } = await bench(own.href, "all", "--tiny", "--json");
    const last = output.trimEnd().split("\n").at(-1)!;
    expect(last, errors).toMatch(/^\{/);
    const report = JSON.parse(last) as Output;
    expect(code, errors).toBe(report.ok ? 0 : 1);
    expect(new Set(report.figures.map(({ work }) => work))).toEqual(new Set(WORKS.keys()));
    for (const { name: figure, library, unit, better, median, low, high, rounds } of report.figures) {
      expect([typeof figure, typeof unit, better === "higher" || better === "lower"]).toEqual([
        "string",
        "string",
        true,
      ]);
      expect(["holdfast", "sql"]).toContain(library);
      expect(low <= median && median <= high && rounds === 1, `${figure}: ${low} ${median} ${high}`).toBe(true);
    }
    for (const { against, median, low, high, pairs } of report.ratios) {
      expect(["sql", "one-row commits"]).toContain(against);
      expect(pairs).toBe(1);
      expect(low <= median && median <= high).toBe(true);
    }
    // Without peers: only bounds on Holdfast's own figures and on those of plain SQL.
    expect(new Set(report.gates.map(({ work }) => work))).toEqual(new Set(["w5", "w6", "w7", "w10", "w11"]));
    for (const gate of report.gates) expect(gate.atLeast === undefined).not.toBe(gate.atMost === undefined);
    expect(report.ok).toBe(report.gates.every(({ holds }) => holds));
  });

  test("measures the capacity at the smallest scale: every load, parked runs and idle nodes", {
    timeout: 120_000,
  }, async () => {
    const { code, output, errors } = await bench(own.href, "capacity", "--tiny", "--json");
    const report = JSON.parse(output.trimEnd().split("\n").at(-1)!) as Awaited<ReturnType<typeof benchCapacity>>;
    // The server's time on cores is unknown here: nothing is fitted, so nothing fails.
    expect([code, report.ok, report.model], errors).toEqual([0, true, null]);
    expect(report.notes).toEqual([expect.stringContaining("The model is left out")]);
    const loads = report.points.map(
      ({ program, processes, concurrency }) => `${program} ${processes} × ${concurrency}`,
    );
    const each = ["1 × 10", "1 × 50", "1 × 200", "1 × 500", "2 × 200", "4 × 200"];
    expect(loads).toEqual(["noop", "steps"].flatMap((program) => each.map((load) => `${program} ${load}`)));
    for (const { perSecond, nodeUs, unitsPerFlush } of report.points) {
      expect([perSecond > 0, nodeUs > 0, unitsPerFlush > 0]).toEqual([true, true, true]);
    }
    expect(report.parked.packedBytesPerRun).toBeGreaterThan(0);
    expect(report.nodes.map(({ nodes, connections }) => connections >= nodes)).toEqual([true, true, true]);
  });

  test("refuses an unknown name before it starts a server", async () => {
    const { code, output, errors } = await bench("postgres://unused.invalid/none", "w4", "w12");
    expect([code, output]).toEqual([2, ""]);
    expect(errors).toContain("unknown: w12");
  });
});
