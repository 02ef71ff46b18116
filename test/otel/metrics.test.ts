// `/metrics` by a parser of its own kind, and the alert rules and the Grafana dashboard: every metric that they name exists.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import parse from "parse-prometheus-text-format";
import { expect, test } from "vitest";
import { dashboard } from "../../src/admin/dashboard.js";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { INSTRUMENTS } from "../../src/telemetry/instruments.js";
import { workflow } from "../../src/workflow/workflow.js";

interface Family {
  readonly name: string;
  readonly type: string;
  readonly metrics: readonly { readonly value?: string; readonly labels?: Readonly<Record<string, string>> }[];
}

const ROOT = join(import.meta.dirname, "../..");
const SECRET = "canary-4711";
const work = workflow("work", async (ctx, n: string) => ctx.step("one", () => n));

async function scraped(): Promise<{ text: string; families: readonly Family[] }> {
  const store = memoryStore();
  const node = await createNode({ store, programs: [work], signals: false });
  const auth = () => ({ id: "scraper", may: ["see" as const] });
  const site = dashboard({ store, nodes: [node], auth, page: ROOT });
  await (await node.start(work, SECRET)).result();
  await store.statistics.collect({ env: "default", everyMs: 0 });
  const response = await site.fetch(new Request("http://localhost/metrics"));
  expect(response.status).toBe(200);
  const text = await response.text();
  await site.close();
  await node.stop();
  return { text, families: parse(text) as readonly Family[] };
}

const named = (text: string) => new Set(text.match(/holdfast_[a-z_]+/g) ?? []);

test("the text is valid, counts what nodes did and shows no payload; rules and dashboard name only what is there", async () => {
  const { text, families } = await scraped();
  expect(text).not.toContain(SECRET);
  const settled = families.find(({ name }) => name === "holdfast_runs_settled_total")!;
  expect(settled.type).toBe("COUNTER");
  expect(settled.metrics).toContainEqual({
    value: "1",
    labels: { env: "default", stack: "", program: "work", as: "completed" },
  });
  for (const { name } of INSTRUMENTS) expect(families.map((one) => one.name)).toContain(name);
  const known = new Set(
    families.flatMap(({ name, type }) => (type === "HISTOGRAM" ? [name, `${name}_bucket`] : [name])),
  );
  for (const file of ["ops/alerts.yml", "ops/grafana.json", "docs/metrics.md"]) {
    const missing = [...named(readFileSync(join(ROOT, file), "utf8"))].filter((name) => !known.has(name));
    expect([file, missing]).toEqual([file, []]);
  }
  // The reference lists each of them.
  const documented = named(readFileSync(join(ROOT, "docs/metrics.md"), "utf8"));
  expect(families.map(({ name }) => name).filter((name) => !documented.has(name))).toEqual([]);
}, 20_000);
