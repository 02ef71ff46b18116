// The order service of examples/shop, as processes: an API and two workers, with kill -9 of each and a new build in the middle.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";

const SHOP = dirname(compiled(join(import.meta.dirname, "../../examples/shop/api.ts")));
const NEXT = `${SHOP}-next`;
const name = `shop_${randomBytes(4).toString("hex")}`;
const url = new URL(inject("databaseUrl"));
url.pathname = `/${name}`;
const server = new pg.Pool({ connectionString: inject("databaseUrl"), max: 1 });
const pool = new pg.Pool({ connectionString: url.href, max: 3 });
for (const one of [server, pool]) one.on("error", () => {});
const store = openPostgres(url.href, {});
const client = createClient({ store });
const processes = new Set<ChildProcess>();

/** Resolves with the process and the first line that it prints; without one, when it has ended. */
async function start(folder: string, file: string) {
  const env = { ...process.env, DATABASE_URL: url.href, REPORT_CRON: "* * * * * *", PORT: "0" };
  const child = spawn(process.execPath, [join(folder, `${file}.js`)], { env, stdio: ["ignore", "pipe", "inherit"] });
  processes.add(child);
  child.once("exit", () => processes.delete(child));
  for await (const line of createInterface(child.stdout!)) return { child, line };
  return { child, line: "" };
}

async function end({ child }: { readonly child: ChildProcess }, signal: NodeJS.Signals) {
  const exit = once(child, "exit");
  child.kill(signal);
  return (await exit)[0];
}

async function openShop(): Promise<{ readonly child: ChildProcess; readonly address: string }> {
  const { child, line } = await start(SHOP, "api");
  return { child, address: line.split(" ").at(-1)! };
}

beforeAll(async () => {
  await server.query(`create database ${name}`);
  await start(SHOP, "database");
  // The next build: a check before the charge, for orders that are not charged yet.
  await cp(SHOP, NEXT, { recursive: true });
  const programs = await readFile(join(NEXT, "programs.js"), "utf8");
  const changed = programs.replace(
    '  await ctx.step("charge"',
    '  if (await ctx.patched("fraud check")) await ctx.step("check fraud", () => true);\n$&',
  );
  expect(changed).not.toBe(programs);
  await writeFile(join(NEXT, "programs.js"), changed);
});
afterAll(async () => {
  for (const child of processes) child.kill("SIGKILL");
  await store.close();
  await pool.end();
  await server.query(`drop database if exists ${name} with (force)`);
  await server.end();
});

let shop: Awaited<ReturnType<typeof openShop>>;

async function ask(method: "GET" | "POST", path: string, body?: object) {
  const response = await fetch(shop.address + path, { method, ...(body && { body: JSON.stringify(body) }) });
  // biome-ignore lint/suspicious/noExplicitAny: the answer of any route
  return { status: response.status, body: (await response.json()) as any };
}

async function until<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

const hasStatus = (id: string, status: string) =>
  until(async () => (await ask("GET", `/orders/${id}`)).body.status === status);

/** Follows an order's progress until it ends or the API dies. Returns the id of the last event. */
async function follow(id: string, seen: string[], after?: string): Promise<string> {
  let last = after ?? "0";
  const headers = after === undefined ? {} : { "last-event-id": after };
  try {
    const { body } = await fetch(`${shop.address}/orders/${id}/progress`, { headers });
    for await (const text of body!.pipeThrough(new TextDecoderStream()))
      for (const [, number, data] of text.matchAll(/id: (\d+)\n(?:event: ended\n)?data: (.+)\n/g)) {
        last = number!;
        seen.push(data!);
      }
  } catch {
    // The API was killed: a browser connects again.
  }
  return last;
}

const place = (id: string, customer: string, cents: number) =>
  ask("POST", "/orders", { id, customer, item: "chair", cents });

test("orders survive kill -9 of workers and API, a new build and cancels; nothing is lost or done twice", {
  timeout: 60_000,
}, async () => {
  const [first, second, api] = await Promise.all([start(SHOP, "worker"), start(SHOP, "worker"), openShop()]);
  shop = api;

  // Five small orders of one customer, two at a time; one that is cancelled; two large ones.
  const small = ["a-1", "a-2", "a-3", "a-4", "a-5"];
  for (const id of small) expect((await place(id, "ann", 1_000)).status).toBe(200);
  expect((await place("a-1", "ann", 1_000)).body).toEqual({ id: "a-1" });
  expect((await place("a-1", "ann", 2_000)).body.code).toBe("KEY_CONFLICT");
  await Promise.all([place("b-1", "bob", 2_000), place("l-1", "eve", 90_000), place("l-2", "eve", 70_000)]);
  const seen: string[] = [];
  const followed = follow("l-1", seen);

  // A worker dies in the middle of the small orders; the other continues them.
  await until(async () => (await pool.query("select from partner_calls where what = 'charge'")).rowCount);
  await end(first, "SIGKILL");
  await hasStatus("b-1", "charged");

  // The API dies; another one continues where the browser was.
  const approvals = await until(async () => {
    const { body } = await ask("GET", "/approvals");
    return body.length === 2 && body;
  });
  await until(async () => seen.length > 0);
  await end(shop, "SIGKILL");
  // Meanwhile the new build starts. It takes over, and the old one ends in order.
  const [again, ...deployed] = await Promise.all([openShop(), start(NEXT, "worker"), start(NEXT, "worker")]);
  shop = again;
  const rest = follow("l-1", seen, await followed);
  expect(deployed[0].line.split("build")[1]).not.toBe(second.line.split("build")[1]);
  expect(await end(second, "SIGTERM")).toBe(0);

  // Charged by the old build, cancelled under the new one.
  expect((await ask("POST", "/orders/b-1/cancel", { by: "bob" })).body).toMatchObject({ outcome: "requested" });
  for (const { order, hash } of approvals) {
    const decision = { choice: order === "l-1" ? "approved" : "denied", by: "mia", hash };
    expect((await ask("POST", `/orders/${order}/decision`, decision)).status).toBe(200);
  }
  expect((await ask("POST", "/orders/l-1/decision", { choice: "denied", by: "tom" })).body.code).toBe(
    "DECISION_CONFLICT",
  );
  await Promise.all([...small, "l-1"].map((id) => hasStatus(id, "charged")));
  for (const id of [...small, "l-1", "l-1"]) await ask("POST", `/orders/${id}/packed`, { by: "pat" });
  await Promise.all([...small, "l-1"].map((id) => hasStatus(id, "shipped")));
  await until(async () => (await ask("GET", "/orders/b-1")).body.state === "cancelled");

  await rest;
  const statuses = ["waits for a manager", "reserved", "charged", "packed by pat", "shipped"];
  expect(seen).toEqual([...statuses.map((status) => JSON.stringify(status)), "completed"]);
  expect((await ask("GET", "/orders/l-2")).body).toMatchObject({ state: "completed", status: "denied" });
  expect((await ask("GET", "/orders/nope")).status).toBe(404);
  const ofEve = (await ask("GET", "/orders?customer=eve")).body;
  expect(ofEve).toHaveLength(2);

  // Each partner acted once per order; what was interrupted was asked again under the same key.
  const { rows } = await pool.query<{ what: string; orders: string[] }>(
    "select what, array_agg(order_id order by order_id) as orders from partner_calls group by what order by what",
  );
  const shipped = [...small, "l-1"];
  const begun = ["a-1", "a-2", "a-3", "a-4", "a-5", "b-1", "l-1"];
  expect(Object.fromEntries(rows.map(({ what, orders }) => [what, orders]))).toEqual({
    charge: begun,
    refund: ["b-1"],
    release: ["b-1"],
    reserve: begun,
    ship: shipped,
  });
  const undone = await pool.query("select what from partner_calls where order_id = 'b-1' order by at");
  expect(undone.rows.map(({ what }) => what)).toEqual(["reserve", "charge", "refund", "release"]);

  // At no time were three calls for one customer under way.
  const most = await pool.query<{ n: number }>(
    `select max(n)::int as n from (select count(*) as n from partner_calls a join partner_calls b
       on a.customer = b.customer and b.at <= a.at and a.at < b.at + interval '150 ms' group by a.key) as at_once`,
  );
  expect(most.rows[0]!.n).toBeLessThanOrEqual(2);

  // Only orders that the new build charged were checked.
  const checked = async (id: string) => {
    const run = await client.runs.get({ program: "order", key: id });
    const entries = (await store.journal.read(run!.id))!.entries;
    return entries.some((entry) => entry.kind === "step" && entry.name === "check fraud");
  };
  expect([await checked("b-1"), await checked("l-1")]).toEqual([false, true]);

  // The report has one row per window, from whichever worker was up, and the last one has all six orders.
  const report = await until(async () => {
    const { rows } = await pool.query("select orders, cents::int as cents from reports order by night desc limit 1");
    return rows[0]?.orders === 6 && rows[0];
  });
  expect(report).toEqual({ orders: 6, cents: 95_000 });
  const { n } = await client.runs.count({ program: "nightly-report", state: "failed" });
  expect(n).toBe(0);
  expect(await Promise.all(deployed.map((worker) => end(worker, "SIGTERM")))).toEqual([0, 0]);
});
