// Points of the code that a simulation bends: off in production, each in one place, and bent only until everything heals.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BUGGIFY_SITES, buggify } from "../../src/kernel/buggify.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { Bends } from "../../src/simulator/buggify.js";
import { Chance } from "../../src/simulator/chance.js";

const SRC = join(import.meta.dirname, "../../src");

test("no point is bent in the world of production", () => {
  expect(systemWorld().buggify).toBeUndefined();
  for (const site of BUGGIFY_SITES) expect(buggify(systemWorld(), site)).toBe(false);
});

test("every point is in the source, and the source has no other", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const text = files.map((name) => readFileSync(join(SRC, name), "utf8")).join("\n");
  const used = new Set([...text.matchAll(/\bbuggify\([^)"]*"([^"]+)"\)/g)].map(([, site]) => site));
  expect([...used].sort()).toEqual([...BUGGIFY_SITES].sort());
});

test("a seed bends some of the points, now and then, until everything heals", () => {
  const bent: string[] = [];
  const bends = new Bends(new Chance(1), (site) => bent.push(site));
  const bend = bends.of(new Chance(2));
  for (let i = 0; i < 100; i++) for (const site of BUGGIFY_SITES) bend(site);
  const sites = new Set(bent);
  expect(sites.size).toBeGreaterThan(2);
  expect(sites.size).toBeLessThan(BUGGIFY_SITES.length);
  expect(bent.length / (100 * sites.size)).toBeLessThan(0.5);
  bends.heal();
  expect(BUGGIFY_SITES.some((site) => bend(site))).toBe(false);
});
