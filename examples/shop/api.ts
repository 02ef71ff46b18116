// The shop's HTTP API. It keeps nothing in memory: any number of processes may serve it, and each may die.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createClient, HoldfastError, type RunHandle } from "holdfast";
import { pool, store } from "./database.js";
import type { Order } from "./partners.js";
import { order, packed } from "./programs.js";

const client = createClient({ store });

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
}

const routes: readonly (readonly [string, RegExp, (call: Call) => Promise<unknown>])[] = [
  ["POST", /^\/orders$/, placeOrder],
  ["GET", /^\/orders$/, listOrders],
  ["GET", /^\/orders\/([\w-]+)$/, showOrder],
  ["GET", /^\/orders\/([\w-]+)\/progress$/, followOrder],
  ["POST", /^\/orders\/([\w-]+)\/packed$/, packOrder],
  ["POST", /^\/orders\/([\w-]+)\/cancel$/, cancelOrder],
  ["GET", /^\/approvals$/, listApprovals],
  ["POST", /^\/orders\/([\w-]+)\/decision$/, decideOrder],
];

/** The order's row and its run exist together, or not at all. The same order again finds the first one. */
async function placeOrder({ request }: Call) {
  const input = await bodyOf<Order>(request);
  const tx = await pool.connect();
  try {
    await tx.query("begin");
    await tx.query("insert into orders values ($1, $2, $3) on conflict do nothing", [
      input.id,
      input.customer,
      input.cents,
    ]);
    await client.start(order, input, { key: input.id, attributes: { customer: input.customer }, tx });
    await tx.query("commit");
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
  return { id: input.id };
}

async function listOrders({ request }: Call) {
  const customer = new URL(request.url!, "http://shop").searchParams.get("customer");
  const { runs } = await client.runs.list({ program: order, ...(customer !== null && { attributes: { customer } }) });
  return runs.map(({ id, state, attributes }) => ({ run: id, state, ...attributes }));
}

async function showOrder({ id }: Call) {
  const run = await runOf(id);
  return { id, run: run.id, state: (await run.status()).state, status: await run.get("status") };
}

/** Server-sent events. A browser that reconnects sends the last id it has seen, and misses nothing. */
async function followOrder({ request, response, id }: Call) {
  const run = await runOf(id);
  const seen = Number(request.headers["last-event-id"] ?? 0);
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  for await (const event of run.watch({ after: seen, signal: gone.signal })) {
    if (event.type === "progress") response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event.value)}\n\n`);
    if (event.type === "ended") response.write(`id: ${event.seq}\nevent: ended\ndata: ${event.state}\n\n`);
  }
  response.end();
}

async function packOrder({ request, id }: Call) {
  const { by } = await bodyOf<{ by: string }>(request);
  await (await runOf(id)).signal(packed, { by }, { id: "packed" }); // sent twice, it counts once
  return { id };
}

async function cancelOrder({ request, id }: Call) {
  const { by } = await bodyOf<{ by: string }>(request);
  return (await runOf(id)).cancel({ by });
}

async function listApprovals() {
  const { rows } = await client.approvals.list({ to: "managers" });
  return rows.map(({ plan, ask, hash, until }) => ({ order: (plan as Order).id, ask, hash, until }));
}

/** `hash` is that of the question which the manager has read: another question is not decided by it. */
async function decideOrder({ request, id }: Call) {
  const { choice, by, hash } = await bodyOf<{ choice: string; by: string; hash: string }>(request);
  await (await runOf(id)).decide("large order", { choice, by, shown: hash });
  return { id, choice };
}

async function runOf(id: string): Promise<RunHandle<string>> {
  const run = await client.runs.get<string>({ program: order, key: id });
  if (!run) throw new UnknownOrder(`There is no order ${id}.`);
  return run;
}

class UnknownOrder extends Error {}

async function bodyOf<T>(request: IncomingMessage): Promise<T> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url!, "http://shop");
  const [, path, handle] = routes.find(([method, path]) => method === request.method && path.test(pathname)) ?? [];
  if (!path || !handle) throw new UnknownOrder(`There is no ${request.method} ${pathname}.`);
  const body = await handle({ request, response, id: path.exec(pathname)?.[1] ?? "" });
  if (!response.headersSent) send(response, 200, body);
}

/** An error of Holdfast has a code and says what to do: a conflict, a late decision, a run that has ended. */
function refusalOf(error: unknown): [status: number, body: object] {
  if (error instanceof UnknownOrder) return [404, { message: error.message }];
  if (error instanceof SyntaxError) return [400, { message: error.message }];
  if (!(error instanceof HoldfastError)) return [500, { message: "The shop has a problem." }];
  return [error.code.startsWith("STORE_") ? 503 : 409, { code: error.code, message: error.message }];
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    const [status, body] = refusalOf(error);
    if (status === 500) console.error(error);
    if (response.headersSent) response.destroy();
    else send(response, status, body);
  });
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`the shop is open at http://127.0.0.1:${(server.address() as { port: number }).port}`);
});
