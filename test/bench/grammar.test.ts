// The words of `npm run bench`, and what a report shows.

import { copyFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readCommand } from "../../bench/grammar.js";
import { PARTS } from "../../bench/parts.js";
import { chartOf } from "../../bench/report/chart.js";
import { atLeast, atMost, bestPeer, figuresOf, ratiosOf, type WorkReport } from "../../bench/report/figure.js";
import { sectionOf, writeResults } from "../../bench/report/results.js";
import { linesOf } from "../../bench/report/table.js";
import { WORKS } from "../../bench/workload/all.js";

const read = (...words: string[]) => readCommand(words, [...WORKS.keys()], [...PARTS.keys()]);

describe("the grammar of the benchmarks", () => {
  test("names W1 to W11 and the benchmarks of the parts", () => {
    expect([...WORKS.keys()]).toEqual(Array.from({ length: 11 }, (_, i) => `w${i + 1}`));
    expect([...PARTS.keys()]).toEqual(
      "actors capacity dag dashboard everyday graph lane machine recovery takeover triggers workflow".split(" "),
    );
  });

  test("reads names and flags in any order, each name once", () => {
    const plain = { peers: false, quick: false, tiny: false, json: false };
    expect(read("w4")).toEqual({ ...plain, names: ["w4"] });
    expect(read("--quick", "w2", "lane", "w2", "--json")).toEqual({
      ...plain,
      names: ["w2", "lane"],
      quick: true,
      json: true,
    });
    expect(read("recovery", "--only=oneOfSeveralMs")).toEqual({
      ...plain,
      names: ["recovery"],
      only: "oneOfSeveralMs",
    });
    expect(read("all", "--peers")).toEqual({ ...plain, names: [...WORKS.keys()], peers: true });
  });

  test.each([
    [[], /^usage: npm run bench -- NAME/],
    [["w12"], /^unknown: w12\nusage/],
    [["w4", "--fast"], /^unknown: --fast\n/],
    [["toString"], /^unknown: toString\n/],
  ])("refuses %j", (words, message) => {
    expect(read(...words)).toMatch(message);
  });
});

describe("a report", () => {
  const quantity = { name: "1 process", unit: "runs/s", better: "higher" } as const;
  const samples = new Map([
    ["holdfast", [100, 120, 90]],
    ["sql", [400, 400, 400]],
    ["slow", [50, 50, 50]],
    ["fast", [200, 150, 180]],
  ]);
  const ratios = ratiosOf(quantity, new Map([...samples, ["one-row commits", [50, 50, 50]]]));
  const report: WorkReport = {
    work: "w2",
    title: "drain",
    figures: figuresOf(quantity, samples),
    ratios,
    gates: [atLeast("1 process, of fast", 0.5, 0.8), atMost("late", 3, 4)],
    notes: ["a note"],
    oneRowCommits: 5_000,
  };

  test("has the median of the ratios of each round, not the ratio of the medians", () => {
    expect(ratios.find(({ against }) => against === "fast")).toMatchObject({
      median: 0.5,
      low: 0.5,
      high: 0.8,
      pairs: 3,
    });
  });

  test("judges by the best peer, and plain SQL is none", () => {
    expect(bestPeer(ratios, "1 process")?.against).toBe("fast");
    const lower = ratiosOf({ ...quantity, better: "lower" }, samples);
    expect(bestPeer(lower, "1 process")?.against).toBe("slow");
    const yardsticks = ratios.filter(({ against }) => against === "sql" || against === "one-row commits");
    expect(yardsticks).toHaveLength(2);
    expect(bestPeer(yardsticks, "1 process")).toBeUndefined();
  });

  test("shows what others do better", () => {
    const text = linesOf(report).join("\n");
    expect(text).toMatch(/fast .*180 runs\/s \(150–200\).*Holdfast's is 0\.5 × this \(0\.5–0\.8\), this is better/);
    expect(text).toMatch(/slow .*Holdfast's is 2 × this \(1\.8–2\.4\)$/m);
    expect(text).toContain("Holdfast's is 2 × the rate of one-row commits (1.8–2.4)");
    expect(text).toContain("FAIL 1 process, of fast: 0.5 (at least 0.8)");
    expect(text).toContain("ok   late: 3 (at most 4)");
  });

  test("is a chart with a bar and a value for every library", () => {
    const svg = chartOf(report);
    expect(svg.match(/<rect x=/g)).toHaveLength(4);
    for (const label of ["plain SQL", "holdfast", "slow", "fast", "400 runs/s"]) expect(svg).toContain(label);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  const situation = {
    commit: "abc1234",
    at: "2026-01-01",
    machine: "2 × a core, 8 GB, linux",
    node: "v20",
    postgres: { synchronous_commit: "on" },
    libraries: [{ name: "fast", version: "1.2.3", settings: "defaults" }],
  };

  test("is a section of the results page, with its circumstances and lines that fit", () => {
    const page = sectionOf([{ ...report, situation }]);
    for (const part of ["abc1234", "| `synchronous_commit` | on |", "| fast | 1.2.3 | defaults |", "(charts/w2.svg)"]) {
      expect(page).toContain(part);
    }
    expect(page.split("\n").filter((line) => line.length > 140)).toEqual([]);
  });

  test("replaces the section of its work on the page, and leaves the rest of it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-results-"));
    try {
      const page = join(folder, "RESULTS.md");
      await copyFile(join(import.meta.dirname, "../../bench/RESULTS.md"), page);
      const [head, tail] = (await readFile(page, "utf8")).split(/<!-- side by side[\s\S]*<!-- end of side by side -->/);
      for (const work of ["w10", "w2", "w10"]) writeResults({ ...report, work, title: `${work}!` }, situation, folder);
      const written = await readFile(page, "utf8");
      expect(written.startsWith(head!) && written.endsWith(tail!)).toBe(true);
      expect(written.match(/^### .*$/gm)).toEqual(["### W2: w2!", "### W10: w10!"]);
      expect(await readdir(join(folder, "charts"))).toEqual(["w10.svg", "w2.svg"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
