// A cancel or a pause from one process of a run that another one works on: nothing of it begins there after the answer here.

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/create-client.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";

const { url, schema } = testSchema();
const CHILD = compiled(join(import.meta.dirname, "stop-request.child.ts"));
const programs = ["far-loop", "far-branches"].map((name) => workflow(name, async () => {}));
const entered = new Map<string, bigint[]>();
const children: ChildProcess[] = [];
let store: PostgresStore;
let client: Client<readonly []>;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
  client = createClient({ store });
  const open = () =>
    new Promise<void>((resolve) => {
      const child = fork(CHILD, [url, schema]);
      children.push(child);
      child.on("message", (told: { ready?: true; runId: string; at: string }) => {
        if (told.ready) resolve();
        else entered.set(told.runId, [...(entered.get(told.runId) ?? []), BigInt(told.at)]);
      });
    });
  await Promise.all([open(), open()]);
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await store.close();
});

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test.each(["cancel", "pause"] as const)("a %s at any moment", async (how) => {
  const one = async (round: number) => {
    const run = await client.start(programs[round % 2]!);
    const begun = () => entered.get(run.id)?.length ?? 0;
    await expect.poll(begun, { interval: 2, timeout: 20_000 }).toBeGreaterThan(0);
    await pause(Math.random() * 60);
    const answer = await run[how]();
    const at = process.hrtime.bigint();
    expect(answer).not.toMatchObject({ acknowledged: false });
    expect(["requested", "cancelled", "paused"]).toContain(answer.outcome);
    await pause(250);
    expect((entered.get(run.id) ?? []).filter((when) => when > at)).toEqual([]);
    if (how === "pause") await run.cancel();
  };
  for (let round = 0; round < 4; round++) await Promise.all([0, 1, 2].map((i) => one(3 * round + i)));
});
