// A soak: a short one on real processes, and the judgement on samples that grow.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { judge, type Sample } from "../../soak/judge.js";
import type { SoakReport } from "../../soak/run.js";
import { compiled } from "../harness/compiled.js";

const ROOT = join(import.meta.dirname, "../..");

test("a few seconds of a fixed load stay flat", { timeout: 60_000 }, async () => {
  const args = [compiled(join(ROOT, "scripts/soak.ts")), "--minutes", "0.07", "--rate", "20", "--json"];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  let [out, log] = ["", ""];
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  const report = JSON.parse(out.trim().split("\n").at(-1)!) as SoakReport;
  expect(report, log).toMatchObject({ ok: true, surprises: [] });
  expect(code).toBe(0);
  expect(report.started).toBeGreaterThan(40);
  expect(report.samples).toBeGreaterThan(3);
  expect(report.lines.connections.mean).toBeGreaterThan(2);
  expect(log).toContain("a transaction pins old rows");
});

describe("a soak fails when", () => {
  const TIMES = { keptMs: 1_000, roundMs: 100 };
  const flat: Sample = {
    ...{ atMs: 0, heapMb: 50, rssMb: 200, handles: 20, connections: 10, rows: 10_000, deadTuples: 1_000 },
    ...{ oldestEndedMs: 1_000, pinned: false },
  };
  /** An hour of samples, 30 s apart. */
  const hour = (change: (part: number) => Partial<Sample>) =>
    Array.from({ length: 120 }, (_, i) => ({ ...flat, atMs: i * 30_000, ...change(i / 120) }));

  test("nothing grows: it does not", () => {
    expect(
      judge(
        hour(() => ({})),
        TIMES,
      ),
    ).toMatchObject({ ok: true, overdueMs: 0 });
    const noisy = hour((part) => ({ heapMb: 50 + 3 * Math.sin(part * 80), rows: 10_000 + 500 * Math.sin(part * 50) }));
    expect(judge(noisy, TIMES).ok).toBe(true);
  });

  test.for([
    ["memory", "heapMb", (part: number) => ({ heapMb: 50 + 30 * part })],
    ["the number of handles", "handles", (part: number) => ({ handles: 20 + 60 * part })],
    ["the number of connections", "connections", (part: number) => ({ connections: 10 + Math.round(10 * part) })],
    ["the number of rows", "rows", (part: number) => ({ rows: 10_000 * (1 + part) })],
    ["the number of dead rows", "deadTuples", (part: number) => ({ deadTuples: 1_000 + 100_000 * part })],
  ] as const)("%s grows", ([, name, change]) => {
    const judgement = judge(hour(change), TIMES);
    expect(judgement.ok).toBe(false);
    expect(judgement.lines[name].ok).toBe(false);
  });

  test("there are too few samples", () => {
    expect(judge([], TIMES).ok).toBe(false);
    expect(judge(hour(() => ({})).slice(0, 2), TIMES).ok).toBe(false);
  });

  test("retention does not keep up", () => {
    const late = hour((part) => ({ oldestEndedMs: 1_000 + 60_000 * part }));
    expect(judge(late, TIMES)).toMatchObject({ ok: false });
  });

  test("dead rows stay after the transaction that pinned them; while it is open they may", () => {
    const pinned = (part: number) => part > 0.4 && part < 0.5;
    const back = hour((part) => ({ pinned: pinned(part), deadTuples: pinned(part) ? 500_000 : 1_000 }));
    expect(judge(back, TIMES).ok).toBe(true);
    const stays = hour((part) => ({ pinned: pinned(part), deadTuples: part > 0.4 ? 500_000 : 1_000 }));
    expect(judge(stays, TIMES).ok).toBe(false);
  });
});
