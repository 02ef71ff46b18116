// The same requests through every way of mounting: Request and Response, node:http, Express, Fastify, Next.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { afterAll, describe, expect, test } from "vitest";
import { type Dashboard, dashboard } from "../../src/admin/dashboard.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { ALL, byHeader } from "./scene.js";

const page = mkdtempSync(join(tmpdir(), "holdfast-page-"));
mkdirSync(join(page, "assets"));
writeFileSync(join(page, "index.html"), '<!doctype html><script type="module" src="./assets/app-1.js"></script>');
writeFileSync(join(page, "assets", "app-1.js"), "export {};");

const ops = dashboard({ store: memoryStore(), auth: byHeader, basePath: "/ops", page, writesPerMinute: 1_000 });
const servers: Server[] = [];
afterAll(async () => {
  await ops.close();
  for (const server of servers) server.closeAllConnections();
});

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** A server whose framework works with Request and Response. */
const onFetch = (answer: (request: Request) => Response | Promise<Response>) =>
  listening(async (incoming, outgoing) => {
    const ended = new AbortController();
    outgoing.on("close", () => ended.abort());
    const response = await answer(await requestOf(incoming, ended.signal));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) outgoing.write(chunk);
    outgoing.end();
  });

async function requestOf(incoming: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const body = await bodyOf(incoming);
  const { method = "GET", headers, url } = incoming;
  const sent = method === "GET" ? {} : { body };
  return new Request(`http://${headers.host}${url}`, {
    method,
    headers: headers as Record<string, string>,
    signal,
    ...sent,
  });
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** As express.json() and app.use("/ops", …): the body is parsed, and the prefix is removed from `url`. */
const express =
  (handler: Dashboard["handler"]): RequestListener =>
  async (incoming, outgoing) => {
    const text = await bodyOf(incoming);
    const url = incoming.url!;
    Object.assign(incoming, {
      body: text === "" ? {} : JSON.parse(text),
      originalUrl: url,
      url: url.slice("/ops".length),
    });
    await handler(incoming, outgoing);
  };

const hono = new Hono();
hono.all("/ops/*", (c) => ops.fetch(c.req.raw));

const WAYS: Readonly<Record<string, () => Promise<string>>> = {
  Hono: () => onFetch((request) => hono.fetch(request)),
  "Next, by methods": () => onFetch((request) => ops.methods[request.method as "GET" | "POST"](request)),
  "node:http": () => listening((incoming, outgoing) => void ops.handler(incoming, outgoing)),
  "Express with a parsed body": () => listening(express(ops.handler)),
  "Connect, prefix removed": () =>
    listening((incoming, outgoing) => {
      incoming.url = incoming.url!.slice("/ops".length);
      void ops.handler(incoming, outgoing);
    }),
  "its own server": async () => (await ops.listen({ port: 0 })).url.replace("/ops/", ""),
};

describe.each(Object.entries(WAYS))("mounted in %s", (_, mount) => {
  const address = mount();
  const call = async (path: string, init: RequestInit = {}) =>
    fetch(`${await address}/ops${path}`, { ...init, headers: { "x-user": ALL, ...init.headers } });
  const post = async (path: string, body: unknown) =>
    call(`/api/v1${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "x-holdfast": "1", origin: await address },
    });

  test("reads, changes, errors", async () => {
    expect(await (await call("/api/v1/session")).json()).toMatchObject({ id: "ann" });
    const started = await post("/runs", { program: "order", input: { n: 1 } });
    expect(started.status).toBe(200);
    const { id } = (await started.json()) as { id: string };
    expect(await (await call(`/api/v1/runs/${id}`)).json()).toMatchObject({ id, program: "order", state: "waiting" });
    expect(await (await call(`/api/v1/runs/${id}/journal/1`)).json()).toMatchObject({ value: { n: 1 } });
    expect(await (await post(`/runs/${id}/cancel`, {})).json()).toEqual({ outcome: "cancelled" });
    expect((await call("/api/v1/none")).status).toBe(404);
    expect((await call("/metrics")).headers.get("content-type")).toContain("text/plain");
    expect(await (await call("/healthz")).json()).toEqual({ ok: true });
  });

  test("a deep link gets the page with the prefix in its links; assets are found", async () => {
    const text = await (await call("/runs/01900000?tab=timeline")).text();
    expect(text).toContain('src="/ops/assets/app-1.js"');
    const asset = await call("/assets/app-1.js");
    expect(asset.headers.get("cache-control")).toContain("immutable");
    expect(asset.headers.get("content-type")).toContain("text/javascript");
    expect((await call("/assets/..%2f..%2fpackage.json")).status).toBe(404);
  });

  test("a stream says hello, and ends with its reader", async () => {
    const ended = new AbortController();
    const response = await call("/api/v1/live?topics=nodes", { signal: ended.signal });
    const reader = response.body!.getReader();
    const text = new TextDecoder().decode((await reader.read()).value);
    expect(text).toMatch(/^event: hello\ndata: \{"connection":"[\w-]{36}"/);
    ended.abort();
    await expect
      .poll(async () => (await (await call("/metrics")).text()).match(/holdfast_admin_streams (\d+)/)?.[1])
      .toBe("0");
  });
});
