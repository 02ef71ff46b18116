// `holdfast bench` on a real server: every figure, an explanation, and nothing left behind.

import { afterEach, expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/command-line.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { throwAwaySchema } from "../../src/store/postgres/throw-away-schema.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { url, rows } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const left = async () =>
  (await rows("select nspname as name from pg_namespace where starts_with(nspname, 'holdfast_bench_')")).map(
    (row) => (row as { name: string }).name,
  );

// A test that failed leaves nothing for the next one.
afterEach(async () => {
  for (const name of await left()) await rows(`drop schema if exists ${name} cascade`);
});

test("measures, explains what limits each figure, and drops its schema and those of killed measurements", async () => {
  const old = `holdfast_bench_${(systemWorld().wallNow() - 7_200_000).toString(36)}_0123abcd`;
  const [young, foreign] = [`holdfast_bench_${systemWorld().wallNow().toString(36)}_0123abcd`, "holdfast_bench_mine"];
  for (const name of [old, young, foreign]) await rows(`create schema ${name}`);
  const { code, json, stderr } = await typed(["bench", "--seconds", "1", "--json"], { env });
  expect([code, stderr]).toEqual([0, ""]);
  const { commit, pickUp, startsPerSecond, drainPerSecond, stepsPerSecond } = json.figures;
  for (const figure of [commit.p50Ms, pickUp.p50Ms, startsPerSecond, drainPerSecond, stepsPerSecond])
    expect(figure).toBeGreaterThan(0);
  expect(json.explained.map(({ figure }: { figure: string }) => figure)).toEqual([
    "one commit",
    "start",
    "pick-up",
    "drain",
    "ten steps",
  ]);
  expect((await left()).sort()).toEqual([young, foreign].sort());
}, 60_000);

test("interrupted, it ends without a result and drops its schema", async () => {
  const stop = new AbortController();
  let errors = "";
  const terminal = {
    write() {},
    writeError: (text: string) => {
      errors += text;
    },
    columns: undefined,
    isTTY: false,
    env,
    cwd: "/",
    interrupted: () => stop.signal,
  };
  const ended = runCommandLine(["bench", "--seconds", "60"], terminal, systemWorld());
  while ((await left()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  stop.abort();
  expect(await ended).toBe(1);
  expect(errors).toContain("Interrupted");
  expect(await left()).toEqual([]);
}, 60_000);

test("a schema is dropped as often as asked", async () => {
  const schema = await throwAwaySchema(url, systemWorld());
  await rows(`create schema ${schema.name}`);
  await Promise.all([schema.drop(), schema.drop()]);
  await schema.drop();
  expect(await left()).toEqual([]);
});

test("a database that is away, and a role without the right to create schemas, are reported", async () => {
  const role = `weak_${systemWorld().token().slice(0, 8)}`;
  await rows(`create role ${role} login password 'weak'`);
  try {
    const weak = await typed(["bench", "--url", url.replace(/\/\/[^@]*@/, `//${role}:weak@`)]);
    expect(weak).toMatchObject({ code: 2, stderr: expect.stringContaining("allowed to create schemas") });
  } finally {
    await rows(`drop role ${role}`);
  }
  const away = await typed(["bench", "--url", "postgres://ann:s3cret@127.0.0.1:1/db"]);
  expect(away.code).toBe(3);
  expect(away.stderr).not.toContain("s3cret");
});
