// `holdfast emit` and `holdfast subscriptions` as people and scripts use them.

import { expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const also = (...words: string[]) => typed([...words, "--schema", schema], { env });

const paid = event<{ order: string; kind: string }>()("order.paid");
const bill = workflow("bill", { on: [on(paid, { where: { kind: "disk" } })] }, async () => {});
const mail = workflow(
  "mail",
  { on: [on(paid, { subject: "order", debounce: "5m" })], circuitBreaker: { threshold: 4, halfOpenAfter: "1m" } },
  async () => {},
);
const count = workflow("count", { version: "2", on: [on(paid, { once: "1h" })] }, async () => {});

test("an env without subscriptions explains how to get one, and an event without subscribers is reported as such", async () => {
  expect((await also("subscriptions")).stdout).toContain("No subscriptions in env default.");
  expect((await also("subscriptions", "--json")).json).toEqual({ ok: true, subscriptions: [] });
  expect((await also("emit", "order.paid")).stdout).toBe("No program is started by order.paid with this payload.\n");
});

test("subscriptions are listed, and emit prints the runs it has started", async () => {
  const node = await createNode({ store, programs: [bill, mail, count] });
  await node.stop();
  const { stdout } = await also("subscriptions");
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^EVENT +PROGRAM +WHERE +DEBOUNCE +ONCE +BREAKER$/);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
  expect(stdout).toMatch(/order\.paid +bill +\{"kind":"disk"\} +until archived/);
  expect(stdout).toMatch(/order\.paid +count@2 +1h/);
  expect(stdout).toMatch(/order\.paid +mail +5m by order +4\n/);
  expect((await also("subscriptions", "other")).stdout).toContain("No program is started by other");
  expect((await also("subscriptions", "order.paid", "--json")).json.subscriptions).toHaveLength(3);

  const payload = '{"order": "o-1", "kind": "disk"}';
  const first = await also("emit", "order.paid", payload, "--id", "e-1");
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toMatch(
    /^PROGRAM +OUTCOME +RUN\nbill +started +\S+\ncount +started +\S+\nmail +debounced +\S+\n$/,
  );
  const again = (await also("emit", "order.paid", payload, "--id", "e-1", "--json")).json;
  expect(again).toMatchObject({ ok: true, event: "order.paid" });
  expect(again.runs.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    "duplicate",
    "duplicate",
    "debounced",
  ]);
  const page = await store.journal.read(again.runs[0].runId);
  expect(page!.entries[0]!.payload!.data).toBe('{"type":"order.paid","order":"o-1","kind":"disk"}');
});

test("a mistake is reported, and nothing is emitted", async () => {
  expect(await also("emit", "order.paid", "{order}")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("not valid JSON"),
  });
  expect((await also("emit", "order.paid", "[1]", "--json")).json).toMatchObject({ code: "INVALID_INPUT" });
  expect((await also("emit", "", "--json")).json).toMatchObject({ code: "INVALID_INPUT" });
});
