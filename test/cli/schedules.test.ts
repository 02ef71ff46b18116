// `holdfast schedules` as people and scripts use it.

import { expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { cron, every } from "../../src/trigger/schedule.js";
import { isSchedule, scheduleKey, writeSpec } from "../../src/trigger/schedule-spec.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const also = (...words: string[]) => typed([...words, "--schema", schema], { env });

async function declare(program: string, ...on: ReturnType<typeof cron | typeof every>[]): Promise<readonly string[]> {
  const group = { env: "default", stack: null, queue: program, program, version: null };
  const schedules = on.map(({ spec }) => {
    if (!isSchedule(spec)) throw new TypeError("not a schedule");
    return { id: systemWorld().id(), group, key: scheduleKey(spec), spec: writeSpec(spec) };
  });
  return store.schedules.declare({ env: "default", stack: null, programs: [program], schedules, removeAfterMs: null });
}

test("an env without schedules explains how to get one", async () => {
  const { code, stdout } = await also("schedules");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("No schedules in env default.") });
  expect((await also("schedules", "--json")).json).toEqual({ ok: true, schedules: [] });
});

test("lists, pauses, resumes and fires", async () => {
  await declare("report::nightly", cron("0 2 * * *", { timezone: "Europe/Berlin" }));
  const ids = await declare("sync", every("5m", { catchUp: "all" }), every("1h"));
  const { stdout } = await also("schedules");
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^PROGRAM +SCHEDULE +STATE +NEXT +CATCH-UP$/);
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
  expect(stdout).toMatch(
    /report::nightly +cron 0 2 \* \* \* \(Europe\/Berlin\) +on +in \d+ \w+, \d\d-\d\d 0[01]:00:00 +last\n/,
  );
  expect(stdout).toMatch(/sync +every 5m +on .* all/);

  const paused = await also("schedules", "pause", "sync");
  expect(paused).toMatchObject({ code: 0, stdout: "sync is paused.\n" });
  const { json } = await also("schedules", "--json");
  const sync = json.schedules.find(({ id }: { id: string }) => id === ids[0]);
  expect(sync).toMatchObject({ schedule: "every 5m", nextFires: [], paused: { by: "cli:ann" }, declared: true });
  expect((await also("schedules")).stdout).toContain("paused by cli:ann");
  expect((await also("schedules", "resume", ids[0]!)).stdout).toBe(`${ids[0]} is resumed.\n`);
  const after = (await also("schedules", "--json")).json.schedules;
  expect(after.map(({ nextFires }: { nextFires: string[] }) => nextFires.length)).toEqual([3, 0, 3]);

  const fired = await also("schedules", "fire", "report::nightly", "--json");
  const started = await store.runs.get(fired.json.runId);
  expect(started).toMatchObject({ state: "waiting", group: { program: "report::nightly" } });
});

test("a mistake is reported, and nothing is done", async () => {
  expect(await also("schedules", "stop", "sync")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unknown verb"),
  });
  expect(await also("schedules", "fire")).toMatchObject({ code: 2, stderr: expect.stringContaining("needs a NAME") });
  expect((await also("schedules", "pause", "nobody", "--json")).json).toMatchObject({ code: "SCHEDULE_UNKNOWN" });
  expect((await also("schedules", "fire", "sync", "--json")).json).toMatchObject({ code: "SCHEDULE_AMBIGUOUS" });
});
