// The admin API over PostgreSQL and a real node: verbs, approvals, dead letters, claims; the audit row is in the verb's transaction.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode, workflow } from "../../src/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { ALL, open } from "./scene.js";

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const { api, post, site } = open({ store });
const approving = open({
  store,
  auth: () => ({ id: "wanda", may: ["approve"], groups: ["warehouse"] }),
});

const ship = workflow("ship", async (ctx) => {
  return ctx.approval("ship", { ask: "Ship it?", to: "warehouse", timeout: "1h" });
});
const fails = workflow("fails", async (ctx) => {
  await ctx.step("charge", { retry: { attempts: 1 } }, () => Promise.reject(new Error("no card: canary-77")));
});
let node: Awaited<ReturnType<typeof createNode>>;

beforeAll(async () => {
  await store.migrate();
  // It counts as alive for three of its heartbeats: a busy machine may take longer than three seconds.
  const timing = { housekeeping: "5s" } as const;
  node = await createNode({ store, programs: [ship, fails], identity: { id: "node-a" }, timing });
});
afterAll(async () => {
  await site.close();
  await approving.site.close();
  await node.stop();
  await store.close();
});

async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  let value = await read();
  const look = async () => {
    value = await read();
    return holds(value);
  };
  await expect.poll(look, { timeout: 15_000 }).toBe(true);
  return value;
}

const runOf = async (id: string) => (await api(`/runs/${id}`)).body;

test("an approval is asked, seen, and decided by a member of its group; the second decision is a conflict", async () => {
  const { id } = (await post("/runs", { program: "ship" })).body;
  const { rows } = await until(
    async () => (await approving.api("/approvals")).body,
    (page) => page.rows.length === 1,
  );
  expect(rows[0]).toMatchObject({ runId: id, approval: "ship", nth: "1", to: "warehouse", ask: "Ship it?" });
  // Parked or about to be: the row says what it waits for, and not only that it is parked.
  const asking = { kind: "approval.begun", name: "ship" };
  expect((await api(`/runs/${id}`)).body.last).toMatchObject(asking);
  const parked = await until(
    async () => (await api("/runs?state=parked")).body,
    ({ rows: found }) => found.length > 0,
  );
  expect(parked.rows.find((row: { id: string }) => row.id === id).last).toMatchObject(asking);
  // Without the permission to read, the question stays hidden.
  expect((await api("/approvals", { user: "bob:see" })).body.rows[0]).toMatchObject({ ask: null });
  const decision = { approval: "ship", choice: "approved", shown: rows[0].hash };
  const stranger = open({ store, auth: () => ({ id: "zed", may: ["approve"], groups: ["sales"] }) });
  expect((await stranger.post(`/runs/${id}/decide`, decision)).body.code).toBe("FORBIDDEN");
  expect((await approving.post(`/runs/${id}/decide`, { ...decision, shown: "other" })).body.code).toBe(
    "DECISION_STALE",
  );
  const first = await approving.post(`/runs/${id}/decide`, decision);
  expect([first.status, first.body]).toEqual([200, { outcome: "decided" }]);
  const ended = await until(
    () => runOf(id),
    ({ state }) => state === "completed",
  );
  expect(ended.last).toMatchObject({ kind: "completed" });
  expect((await approving.post(`/runs/${id}/decide`, decision)).status).toBe(409);
  expect((await approving.api("/approvals")).body.rows).toEqual([]);
  const lane = (await api(`/runs/${id}/claims`)).body;
  expect(lane.claims.map(({ ended: how }: { ended: string }) => how)).toEqual(["parked", "completed"]);
  expect(lane.claims[0].holder).toMatchObject({ name: "node-a" });
});

test("a failed run is a dead letter, in its group, without its message for those who may only see; it is retried", async () => {
  const { id } = (await post("/runs", { program: "fails" })).body;
  await until(
    () => runOf(id),
    ({ state }) => state === "failed",
  );
  const seen = await api("/dead", { user: "bob:see" });
  expect(seen.body.rows).toMatchObject([{ runId: id, program: "fails", state: "failed", message: null }]);
  expect(JSON.stringify(seen.body)).not.toContain("canary");
  expect((await api("/dead")).body.rows[0].message).toContain("canary-77");
  const groups = (await api("/dead/groups")).body;
  expect(groups.groups).toMatchObject([{ program: "fails", state: "failed", n: 1, examples: [id] }]);
  expect((await api("/overview")).body).toMatchObject({ dead: { n: 1, atLeast: false }, nodes: { alive: 1 } });
  const retried = await post("/dead/retry", { ids: [id] });
  expect(retried.body.answers).toEqual([{ id, outcome: "retried" }]);
  await until(
    () => runOf(id),
    ({ state, generation, seq }) => state === "failed" && (generation > 0 || seq > 4),
  );
});

test("the audit row is in the transaction of its change, with who, what and before", async () => {
  const { id } = (await post("/runs", { program: "unserved-program" })).body;
  const headers = { "idempotency-key": "cancel-1" };
  const answer = await post(`/runs/${id}/cancel`, { reason: "test", note: "because" }, { headers });
  expect(answer.body).toEqual({ outcome: "cancelled" });
  const { rows } = await pool.query(
    `select a.xmin::text as audited, j.xmin::text as written, a.by, a.action, a.before, a.note from ${schema}.audit a
     join ${schema}.journal j on j.run_id = a.object::uuid and j.kind = 'cancelled' where a.object = $1 and a.action = 'runs.cancel'`,
    [id],
  );
  expect(rows).toMatchObject([{ by: "ann", action: "runs.cancel", before: '{"state":"waiting"}', note: "because" }]);
  expect(rows[0].audited).toBe(rows[0].written);
  const started = await pool.query(
    `select a.xmin::text = r.xmin::text as same from ${schema}.audit a, ${schema}.journal r
     where r.run_id = $1 and r.seq = 1 and a.action = 'runs.start' and a.object = $1::text`,
    [id],
  );
  expect(started.rows).toEqual([{ same: true }]);
  await expect(pool.query(`update ${schema}.audit set by = 'eve'`)).rejects.toThrow(/never changed/);
  await expect(pool.query(`delete from ${schema}.audit`)).rejects.toThrow(/never changed/);
});

test("every verb leaves one audit row", async () => {
  const before = (await api("/audit?limit=200")).body.rows.length;
  const { id } = (await post("/runs", { program: "later", delayMs: 3_600_000 })).body;
  await post(`/runs/${id}/pause`);
  await post(`/runs/${id}/resume`);
  await post(`/runs/${id}/signal`, { name: "go", payload: 1 });
  await post("/queues/q/pause");
  await post("/queues/q/resume");
  await post("/nodes/node-a/override", { program: "ship", mode: "disabled" });
  await post("/nodes/node-a/override", { program: "ship", mode: null });
  await post("/events", { event: "nothing" });
  await post(`/runs/${id}/cancel`);
  const { rows } = (await api("/audit?limit=200")).body;
  const actions = rows.slice(0, rows.length - before).map(({ action }: { action: string }) => action);
  expect(actions.reverse()).toEqual([
    "runs.start",
    "runs.pause",
    "runs.resume",
    "runs.signal",
    "queues.pause",
    "queues.resume",
    "nodes.override",
    "nodes.override",
    "events.emit",
    "runs.cancel",
  ]);
});

test("a bulk action does what was previewed, and refuses another request", async () => {
  for (let i = 0; i < 3; i++) await post("/runs", { program: "bulk", input: i });
  const filter = { program: "bulk" };
  const preview = (await post("/bulk/preview", { action: "cancel", filter })).body;
  expect([preview.count, preview.examples.length]).toEqual([{ n: 3, atLeast: false }, 3]);
  const other = await post("/bulk/step", { action: "cancel", filter: {}, digest: preview.digest });
  expect([other.status, other.body.code]).toEqual([409, "PREVIEW_STALE"]);
  const step = (await post("/bulk/step", { action: "cancel", filter, digest: preview.digest })).body;
  expect(step.answers.map(({ outcome }: { outcome: string }) => outcome)).toEqual(Array(3).fill("cancelled"));
  expect(step.next).toBe(null);
  expect((await post("/bulk/preview", { action: "cancel", filter })).body.count.n).toBe(0);
});

test("lists of nodes, queues, programs, leases, timers, limits, triggers and figures answer", async () => {
  expect((await api("/nodes")).body.rows).toMatchObject([{ name: "node-a", alive: true }]);
  expect((await api("/nodes/node-a")).body).toMatchObject({ name: "node-a", held: [] });
  expect((await api("/programs")).body.rows.map(({ name }: { name: string }) => name)).toEqual(["fails", "ship"]);
  expect((await api("/leases")).body.rows.every((row: object) => !("token" in row))).toBe(true);
  for (const path of [
    "/queues",
    "/timers",
    "/limits",
    "/triggers",
    "/schedules",
    "/machines",
    "/takeovers",
    "/doctor",
  ]) {
    expect([path, (await api(path)).status]).toEqual([path, 200]);
  }
  expect((await api("/scale?queue=ship")).body).toMatchObject({ nodes: 1 });
  const text = await (
    await site.fetch(new Request("http://localhost/metrics", { headers: { host: "localhost", "x-user": ALL } }))
  ).text();
  expect(text).toMatch(/holdfast_nodes\{env="default",state="alive"\} 1/);
  expect(text).toMatch(/holdfast_dead_letters\{env="default",state="failed"\} 1/);
});
