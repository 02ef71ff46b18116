// What the admin API answers beyond single runs: shared polls, groups by error code, copied inputs, other approvers, filters.

import { afterAll, expect, test } from "vitest";
import { dashboard } from "../../src/admin/dashboard.js";
import { createNode, workflow } from "../../src/index.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { mapOperations, methodOf } from "../../src/store/operations.js";
import { ALL, byHeader, open, startRun, world } from "./scene.js";

const closing: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));
const opened = (options: Parameters<typeof open>[0] = {}) => {
  const one = open(options);
  closing.push(() => one.site.close());
  return one;
};

const ask = workflow("ask", (ctx, to: string) => ctx.approval("ship", { ask: "Ship?", to }));
const fails = workflow("fails", async (_ctx, code: string) => {
  throw Object.assign(new Error("no"), { code });
});

/** A node over a store in memory. */
async function nodeOver(store: Store) {
  const node = await createNode({ store, programs: [ask, fails], identity: { id: "node-a" } });
  closing.push(() => node.stop());
  return node;
}

const settled = (read: () => Promise<boolean>) => expect.poll(read, { timeout: 10_000 }).toBe(true);

test("fifty pages that poll cost the statements of one, and a change is seen by the next poll", async () => {
  const calls: string[] = [];
  const inner = memoryStore();
  const store = mapOperations((name) => (...args: unknown[]) => {
    calls.push(name);
    return methodOf(inner, name)(...args);
  });
  const site = opened({ store });
  const poll = (user: string) => site.api("/queues", { user, headers: { "cache-control": "max-age=4" } });
  await poll("first:see");
  const one = calls.length;
  await Promise.all(Array.from({ length: 50 }, (_, i) => poll(`user-${i}:see`)));
  expect(calls.length).toBe(one);
  // Another right may show another answer; without a header the answer is new.
  await poll("ann:see,read");
  expect(calls.length).toBeGreaterThan(one);
  const before = calls.length;
  await site.api("/queues", { user: "first:see" });
  expect(calls.length).toBeGreaterThan(before);
  await site.post("/queues/q/pause");
  expect((await poll("first:see")).body.rows).toMatchObject([{ queue: "q", paused: { by: "ann" } }]);
});

test("a look at a payload is never shared: each is in the audit", async () => {
  const site = opened();
  const id = await startRun(site.post);
  const headers = { "cache-control": "max-age=9" };
  for (const user of ["ann:read", "bob:read", "bob:read"]) await site.api(`/runs/${id}/journal/1`, { user, headers });
  const { rows } = (await site.api("/audit?action=runs.payload")).body;
  expect(rows.map(({ by }: { by: string }) => by)).toEqual(["bob", "bob", "ann"]);
});

test("a group of dead letters is retried by its code, and letters of another code stay", async () => {
  const store = memoryStore();
  const node = await nodeOver(store);
  const site = opened({ store });
  for (const code of ["NO_CARD", "NO_CARD", "NO_STOCK"]) await node.start(fails, code);
  await settled(async () => (await site.api("/dead")).body.rows.length === 3);
  await node.stop();
  const filter = { state: ["failed"], program: "fails", code: "NO_CARD" };
  const preview = (await site.post("/bulk/preview", { action: "retry", filter })).body;
  expect([preview.count, preview.examples.length]).toEqual([{ n: 2, atLeast: false }, 2]);
  const other = { ...filter, code: "NO_STOCK" };
  const stale = await site.post("/bulk/step", { action: "retry", filter: other, digest: preview.digest });
  expect(stale.body.code).toBe("PREVIEW_STALE");
  const step = (await site.post("/bulk/step", { action: "retry", filter, digest: preview.digest })).body;
  expect(step.answers.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["retried", "retried"]);
  expect((await site.api("/dead")).body.rows).toMatchObject([{ code: "NO_STOCK" }]);
  const none = (await site.post("/bulk/preview", { action: "retry", filter: { ...filter, code: "" } })).body;
  expect(none.count.n).toBe(0);
});

test("a run is started again with the input that is stored, not with the one that is shown", async () => {
  const site = opened();
  const first = await startRun(site.post, "order", { card: "visible", password: "canary-9" });
  expect((await site.api(`/runs/${first}/journal/1`)).body.value.password).toBe("[redacted]");
  const { id } = (await site.post("/runs", { program: "order", inputOf: first })).body;
  const [one, two] = [await site.store.journal.read(first), await site.store.journal.read(id)];
  expect(two?.entries[0]?.payload).toEqual(one?.entries[0]?.payload);
});

test("who started a run does not decide its approvals, where another approver is required", async () => {
  const store = memoryStore();
  await nodeOver(store);
  const strict = opened({ store, requireDifferentApprover: true });
  const { id } = (await strict.post("/runs", { program: "ask", input: "sales" })).body;
  await settled(async () => (await strict.api("/approvals")).body.rows.length === 1);
  const decide = (site: typeof strict, user: string) =>
    site.post(`/runs/${id}/decide`, { approval: "ship", choice: "approved" }, { user });
  expect((await decide(strict, ALL)).body).toMatchObject({ code: "SAME_PERSON" });
  expect((await decide(strict, "bob:approve")).body).toEqual({ outcome: "decided" });
  const loose = opened({ store });
  const own = (await loose.post("/runs", { program: "ask", input: "sales" })).body.id;
  await settled(async () => (await loose.api("/approvals")).body.rows.length === 1);
  const body = { approval: "ship", choice: "approved" };
  expect((await loose.post(`/runs/${own}/decide`, body)).body).toEqual({ outcome: "decided" });
});

test("a page of approvals of one group is full, also when others are between them", async () => {
  const store = memoryStore();
  const node = await nodeOver(store);
  const site = opened({ store });
  for (let i = 0; i < 12; i++) await node.start(ask, i % 4 === 0 ? "warehouse" : "sales");
  await settled(async () => (await site.api("/approvals")).body.rows.length === 12);
  const first = (await site.api("/approvals?to=warehouse&limit=2")).body;
  expect(first.rows.map(({ to }: { to: string }) => to)).toEqual(["warehouse", "warehouse"]);
  const second = (await site.api(`/approvals?to=warehouse&limit=2&before=${first.next}`)).body;
  expect([second.rows.length, second.next]).toEqual([1, null]);
});

test("runs are found by node, parent and the beginning of their key", async () => {
  const store = memoryStore();
  await nodeOver(store);
  const site = opened({ store });
  await site.post("/runs", { program: "p", key: "order:1" });
  await site.post("/runs", { program: "p", key: "other:1" });
  const { rows } = (await site.api("/runs?key=order:")).body;
  expect(rows.map(({ key }: { key: string }) => key)).toEqual(["order:1"]);
  expect((await site.api(`/runs?parent=${rows[0].id}`)).body.rows).toEqual([]);
  expect((await site.api("/runs?node=node-a")).body.rows).toEqual([]);
  expect((await site.api("/runs?node=unknown")).body.code).toBe("NODE_UNKNOWN");
});

test("a failed run says why; its message needs the permission read", async () => {
  const store = memoryStore();
  const node = await nodeOver(store);
  const site = opened({ store });
  const { id } = await node.start(fails, "NO_CARD");
  await settled(async () => (await site.api(`/runs/${id}`)).body.state === "failed");
  expect((await site.api(`/runs/${id}`)).body.error).toEqual({ code: "NO_CARD", message: "no" });
  expect((await site.api(`/runs/${id}`, { user: "bob:see" })).body.error).toEqual({ code: "NO_CARD", message: null });
});

test("nodes report how their process fares, and their programs with kind, shape and schema of the input", async () => {
  const store = memoryStore();
  await nodeOver(store);
  const site = opened({ store });
  await settled(async () => (await site.api("/nodes")).body.rows[0].vitals !== null);
  const [{ vitals }] = (await site.api("/nodes")).body.rows;
  expect(vitals).toMatchObject({ busy: { default: 0 } });
  expect(vitals.rssBytes).toBeGreaterThan(1e6);
  expect((await site.api("/programs/ask")).body).toMatchObject({ kind: "workflow", shape: null, inputSchema: null });
});

test("a definition that was read with hidden values is not saved with them", async () => {
  const site = opened();
  const body = { tasks: { a: { run: "x", options: { apiKey: "[redacted]" } } } };
  const answer = await site.api("/definitions/dag/etl", { method: "PUT", body: { body } });
  expect([answer.status, answer.body.message]).toEqual([422, expect.stringContaining("Write the value")]);
});

test("what is done to a process of a development server is in the audit, with who did it", async () => {
  const store = memoryStore();
  const nodes = [{ name: "node-a", incarnation: "a-1", state: "up" as const }];
  const own = (incarnation: string) => (incarnation === "a-1" ? "node-a" : null);
  const supervisor = {
    state: () => ({ app: "app.ts", problem: null, nodes }),
    kill: own,
    freeze: () => 8_000,
    restart: own,
  };
  const site = dashboard({ store, auth: byHeader }, world, supervisor);
  closing.push(() => site.close());
  const headers = { host: "localhost", "x-user": ALL, origin: "http://localhost", "x-holdfast": "1" };
  for (const path of ["a-1/kill", "a-1/freeze", "a-1/restart", "b-1/kill"]) {
    const init = { method: "POST", body: "{}", headers: { ...headers, "content-type": "application/json" } };
    await site.fetch(new Request(`http://localhost/api/v1/dev/nodes/${path}`, init));
  }
  const { rows } = await store.audit.list({ env: "default" }, { limit: 10 });
  expect(rows.map(({ action, object, by, before }) => [action, object, by, before])).toEqual(
    ["restart", "freeze", "kill"].map((verb) => [`dev.${verb}`, "a-1", "ann", '{"name":"node-a","state":"up"}']),
  );
});
