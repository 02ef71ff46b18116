// `holdfast histories export`: what PostgreSQL has recorded is replayed against other code.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import { replay } from "../../src/testing/replay/replay.js";
import { workflow } from "../../src/workflow/workflow.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { store, url, schema } = scene();
const also = (...words: string[]) => typed([...words, "--schema", schema], { env: { HOLDFAST_DATABASE_URL: url } });
const order = (step: string) =>
  workflow("order", async (ctx, id: string) => {
    await ctx.step(step, () => id);
    await ctx.sleep("a day", "1d");
    return id;
  });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "histories-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("exports the journals of runs to a file that replay reads", async () => {
  const program = order("reserve");
  await using node = await createNode({ store, programs: [program], signals: false });
  const run = await node.start(program, "o-1");
  await expect.poll(async () => (await run.status()).state).toBe("parked");
  const out = join(folder, "histories.json");
  expect(await also("histories", "export", "--out", out)).toMatchObject({
    code: 0,
    stdout: `1 histories are in ${out}.\n`,
  });
  const histories = JSON.parse(await readFile(out, "utf8"));
  expect(histories).toMatchObject({ format: 1, histories: [{ id: run.id, program: "order", state: "parked" }] });
  (await replay(program, histories)).assert();
  expect((await replay(order("take"), histories)).misfits).toMatchObject([{ runId: run.id }]);
});

test("prints them without a file, and selects by program", async () => {
  const { code, json } = await also("histories", "export", "--json");
  expect({ code, json }).toMatchObject({ code: 0, json: { ok: true, format: 1, histories: [{ program: "order" }] } });
  expect((await also("histories", "export", "--program", "other", "--json")).json.histories).toEqual([]);
});

test("refuses another verb", async () => {
  expect(await also("histories", "import")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("the only one is export"),
  });
});
