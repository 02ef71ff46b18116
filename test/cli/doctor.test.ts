// `holdfast doctor` on a real server: every check answers, for people and as JSON.

import { expect, test } from "vitest";
import { newRun, scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { store, url, schema } = scene();

test("examines server, schema, nodes and queues, and says what to do", async () => {
  await store.runs.insert([newRun({ group: { ...newRun().group, env: "default" } })]);
  const words = ["doctor", "--schema", schema];
  const { code, json } = await typed([...words, "--json"], { env: { HOLDFAST_DATABASE_URL: url } });
  expect(code).toBe(0);
  expect(json).toMatchObject({ ok: true, worst: "problem", server: { pooled: false, schemaProblem: null } });
  const checks = new Set(json.findings.map(({ check }: { check: string }) => check));
  for (const check of ["version", "synchronous_commit", "clock", "pooler", "schema", "bloat", "lease", "queues"]) {
    expect(checks).toContain(check);
  }
  for (const { name, is } of json.server.abilities) expect(`${name} ${is}`).toBe(`${name} works`);
  expect(json.server.abilities).toHaveLength(5);
  const { stdout } = await typed(words, { env: { HOLDFAST_DATABASE_URL: url } });
  expect(stdout).toContain("no live node claims it");
  expect(stdout).toContain("→ Start a node that has its programs");
});
