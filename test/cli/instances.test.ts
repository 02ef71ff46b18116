// `holdfast instances`, `instance` and `send` as people and scripts use them.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { machine } from "../../src/machine/index.js";
import { createNode } from "../../src/node/create-node.js";
import { orderDefinition } from "../machine/order-machine.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { store, url, schema } = scene();
const also = (...words: string[]) => typed([...words, "--schema", schema], { env: { HOLDFAST_DATABASE_URL: url } });
const orders = machine("order", orderDefinition(3_600_000), {
  redact: ["input.email", "context.email", "params.cents"],
  version: "7",
});

test("instances are listed, shown with timers and history, and sent to; marked fields are not shown", async () => {
  expect((await also("instances")).stdout).toBe(
    "No instances in env default. node.start(machine, input, { id }) creates one.\n",
  );
  const client = createClient({ store });
  await client.start(orders, { email: "secret@example.com" }, { id: "o-1" });
  await client.start(orders, { email: "b" }, { id: "o-2" });
  await client.instance(orders, "o-2").stop();
  const list = await also("instances", "order");
  expect(list.stdout).toMatch(/^MACHINE +ID +STATUS +STATE +SEQ +VERSION +CHANGED\n/);
  expect(list.stdout).toMatch(/order +o-1 +active +pending +1 +7 /);
  expect((await also("instances", "--status", "stopped", "--json")).json.instances).toMatchObject([{ id: "o-2" }]);

  const sent = await also("send", "order", "o-1", "PAY", '{"cents":300}', "--key", "k");
  expect(sent).toMatchObject({ code: 0, stdout: "order o-1 has the event PAY.\n" });
  expect((await also("instance", "order", "o-1")).stdout).toMatch(/PAY +now +pending/);
  const node = await createNode({ store, programs: [orders] });
  await node.instance(orders, "o-1").waitFor(({ value }) => value === "paid", { timeout: "20s" });
  await node.stop();
  const shown = await also("instance", "order", "o-1", "--json");
  expect(shown.json).toMatchObject({
    ...{ ok: true, state: "paid", seq: 2, timers: [] },
    history: [
      { event: "start", value: '{"email":"[redacted]"}' },
      { event: "PAY", by: "cli:ann", value: '{"cents":300,"type":"PAY"}' },
    ],
  });
  expect(JSON.stringify(shown)).not.toContain("secret@example.com");
  // The run of its effect has the context of that step as its input.
  const { runs } = (await also("runs", "--json")).json as { runs: { id: string; program: string }[] };
  const effect = runs.find(({ program }) => program === "order::effects")!;
  for (const options of [["--payloads"], ["--json"]]) {
    const { stdout } = await also("show", effect.id, ...options);
    expect(stdout).toContain("[redacted]");
    expect(stdout).not.toContain("secret@example.com");
  }
});

test("a mistake is reported, and nothing is done", async () => {
  expect(await also("instance", "order", "nobody", "--json")).toMatchObject({
    code: 1,
    json: { code: "INSTANCE_UNKNOWN" },
  });
  expect(await also("send", "order", "nobody", "PAY", "[1]")).toMatchObject({ code: 2 });
  expect(await also("instances", "--status", "odd")).toMatchObject({ code: 2 });
});
