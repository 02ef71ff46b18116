// The build stays small, and loads nothing from elsewhere.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Built, buildDashboard, compressedSizes } from "./built.js";

const KB = 1_000;
let built: Built;

beforeAll(async () => {
  built = await buildDashboard();
});
afterAll(() => built.remove());

const read = (name: string) => readFileSync(join(built.folder, name), "utf8");

/** A script and what it imports before it runs. */
function withImports(name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, path] of read(name).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
    withImports(`assets/${path}`, seen);
  return seen;
}

describe("the built dashboard", () => {
  test("is at most 200 kB compressed, and no file is over 30 kB", () => {
    const sizes = compressedSizes(built.folder);
    const total = [...sizes.values()].reduce((a, b) => a + b, 0);
    expect(total).toBeLessThan(200 * KB);
    expect([...sizes].filter(([, size]) => size > 30 * KB)).toEqual([]);
  });

  test("needs at most 45 kB compressed for the first page", () => {
    const sizes = compressedSizes(built.folder);
    const [, entry] = /src="\.\/(assets\/[^"]+\.js)"/.exec(read("index.html"))!;
    const overview = readdirSync(join(built.folder, "assets")).find((name) => name.startsWith("overview-"))!;
    const scripts = withImports(`assets/${overview}`, new Set(withImports(entry!)));
    const styles = [...sizes.keys()].filter((name) => name.endsWith(".css"));
    const first = ["index.html", ...styles, ...scripts].reduce((sum, name) => sum + sizes.get(name)!, 0);
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
    const css = readdirSync(join(built.folder, "assets")).filter((name) => name.endsWith(".css"));
    for (const name of css) expect(read(`assets/${name}`)).not.toMatch(/@import|https?:/);
  });
});
