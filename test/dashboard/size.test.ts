// The build stays small, and loads nothing from elsewhere.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { compressedSizes, firstLoad, totalSize } from "./built.js";
import { sharedDashboard } from "./shared-build.js";

const KB = 1_000;
let built: string;

beforeAll(async () => {
  built = await sharedDashboard();
});

const read = (name: string) => readFileSync(join(built, name), "utf8");

describe("the built dashboard", () => {
  test("is at most 200 kB compressed, and no file is over 30 kB", () => {
    const sizes = compressedSizes(built);
    expect(totalSize(built)).toBeLessThan(200 * KB);
    expect([...sizes].filter(([, size]) => size > 30 * KB)).toEqual([]);
  });

  test("needs at most 45 kB compressed for the first page", () => {
    const first = firstLoad(built);
    expect(first).toBeLessThan(45 * KB);
    expect(first).toBeGreaterThan(10 * KB);
  });

  test("carries the licences of what is built into it", () => {
    const text = read("licences.txt");
    const modules = [
      "preact",
      "@preact/signals",
      "@tanstack/virtual-core",
      "uplot",
      "@dagrejs/dagre",
      "@dagrejs/graphlib",
    ];
    for (const name of modules) expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+, MIT$`, "m"));
    expect(text.match(/Permission is hereby granted/g)?.length).toBeGreaterThanOrEqual(modules.length);
  });

  test("has no inline script, no inline style and no foreign address", () => {
    const html = read("index.html");
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style="|https?:/);
    const css = readdirSync(join(built, "assets")).filter((name) => name.endsWith(".css"));
    for (const name of css) expect(read(`assets/${name}`)).not.toMatch(/@import|https?:/);
  });
});
