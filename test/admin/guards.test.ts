// What a browser of another site, a foreign host or a hostile body meets.

import { afterAll, expect, test } from "vitest";
import { createToken, tokens } from "../../src/admin/auth/authenticate.js";
import { dashboard } from "../../src/admin/dashboard.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { ALL, HOST, open, startRun, world } from "./scene.js";

const { api, post, send, site, store } = open();
afterAll(() => site.close());

test("a foreign Host is refused, also for the page; publicUrl and listed hosts are not", async () => {
  for (const path of ["/", "/healthz", "/api/v1/session", "/metrics"]) {
    const response = await send(path, { headers: { host: "evil.example" } });
    expect([path, response.status]).toEqual([path, 403]);
    expect(await response.json()).toMatchObject({ code: "HOST_REFUSED" });
  }
  const open2 = open({ publicUrl: "https://app.example/ops", hosts: ["inner:9000"], basePath: "/ops" });
  for (const host of ["app.example", "inner:9000", "localhost:1", "127.0.0.1", "[::1]:80"]) {
    expect((await open2.send("/ops/api/v1/session", { headers: { host } })).status, host).toBe(200);
  }
});

test("a change needs our content type, our header and our origin", async () => {
  const code = async (headers: Record<string, string>) => (await post("/queues/q/pause", {}, { headers })).body.code;
  expect(await code({ "content-type": "text/plain" })).toBe("CONTENT_TYPE");
  expect(await code({ "content-type": "application/x-www-form-urlencoded" })).toBe("CONTENT_TYPE");
  expect(await code({ "x-holdfast": "0" })).toBe("ORIGIN_REFUSED");
  expect(await code({ origin: "https://evil.example" })).toBe("ORIGIN_REFUSED");
  expect(await code({ origin: "null" })).toBe("ORIGIN_REFUSED");
  expect(await code({ "sec-fetch-site": "cross-site" })).toBe("ORIGIN_REFUSED");
  expect(await code({})).toBe(undefined);
  expect((await store.queues.list("default")).map(({ queue }) => queue)).toEqual(["q"]);
});

test("a script without an origin needs a token", async () => {
  const request = (headers: Record<string, string>) =>
    new Request(`http://${HOST}/api/v1/queues/q/resume`, {
      method: "POST",
      body: "{}",
      headers: { host: HOST, "x-user": ALL, "content-type": "application/json", "x-holdfast": "1", ...headers },
    });
  expect((await site.fetch(request({}))).status).toBe(403);
  expect((await site.fetch(request({ authorization: "Bearer x" }))).status).toBe(200);
});

test("a read from another site is refused; the page itself may be linked to", async () => {
  const headers = { "sec-fetch-site": "cross-site" };
  expect((await api("/runs", { headers })).body.code).toBe("ORIGIN_REFUSED");
  expect((await send("/runs/x", { headers })).status).toBe(200);
});

test("every answer has the security headers, and no CORS", async () => {
  for (const path of ["/", "/api/v1/session", "/api/v1/none", "/metrics", "/healthz"]) {
    const { headers } = await send(path);
    expect(headers.get("content-security-policy"), path).toContain("require-trusted-types-for 'script'");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBe(null);
    expect(headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
  }
});

test("bodies are bounded in size and depth", async () => {
  const large = await post("/runs", { program: "p", input: "x".repeat(1_100_000) });
  expect([large.status, large.body.code]).toEqual([413, "BODY_TOO_LARGE"]);
  let deep: unknown = 1;
  for (let i = 0; i < 40; i++) deep = [deep];
  expect((await post("/runs", { program: "p", input: deep })).body.code).toBe("INVALID_INPUT");
  const broken = await site.fetch(
    new Request(`http://${HOST}/api/v1/runs`, {
      method: "POST",
      body: "{",
      headers: {
        host: HOST,
        "x-user": ALL,
        origin: `http://${HOST}`,
        "content-type": "application/json",
        "x-holdfast": "1",
      },
    }),
  );
  expect(broken.status).toBe(422);
});

test("changes of a caller are limited per minute, reads are not", async () => {
  const slow = open({ writesPerMinute: 2 });
  expect((await slow.post("/queues/q/pause")).status).toBe(200);
  expect((await slow.post("/queues/q/resume")).status).toBe(200);
  expect((await slow.post("/queues/q/pause")).body.code).toBe("TOO_MANY_WRITES");
  expect((await slow.api("/queues")).status).toBe(200);
  expect((await slow.post("/queues/q/pause", {}, { user: "bob:operate" })).status).toBe(200);
});

test("a repeated request with the same key is done once", async () => {
  const headers = { "idempotency-key": "k-1" };
  const first = await post("/runs", { program: "once" }, { headers });
  const second = await post("/runs", { program: "once" }, { headers });
  expect(second.body).toEqual(first.body);
  // Also by another process, which does not remember the answer.
  const other = open({ store });
  expect((await other.post("/runs", { program: "once" }, { headers })).body).toEqual({
    id: first.body.id,
    outcome: "existing",
  });
  expect((await api("/runs/count?program=once")).body).toEqual({ n: 1, atLeast: false });
});

test("without auth only this machine is served, and never by a function that does not know the address", async () => {
  const bare = dashboard({ store: memoryStore() });
  const refused = await bare.fetch(new Request("http://localhost/api/v1/session", { headers: { host: "localhost" } }));
  expect(await refused.json()).toMatchObject({ code: "AUTH_REQUIRED" });
  await expect(bare.listen({ host: "0.0.0.0", port: 0 })).rejects.toThrow(/Set `auth`/);
  const { url } = await bare.listen({ port: 0 });
  try {
    expect(await (await fetch(`${url}api/v1/session`)).json()).toMatchObject({ id: "local" });
  } finally {
    await bare.close();
  }
});

test("a token is shown once, works until it is revoked, and ten wrong ones lock an address out", async () => {
  const own = open({ auth: tokens() });
  const secret = await createToken(own.store, world, { name: "ci", may: ["administer", "see"] });
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, user: "" });
  const made = await own.post("/tokens", { name: "deploy", may: ["see"] }, as(secret));
  expect(made.body.secret).toMatch(/^hf_[\w-]{43}$/);
  const listed = await own.api("/tokens", as(secret));
  expect(JSON.stringify(listed.body)).not.toContain("hf_");
  expect(listed.body.rows.map((row: { name: string }) => row.name)).toEqual(["deploy", "ci"]);
  expect((await own.api("/session", as(made.body.secret))).body.name).toBe("deploy");
  expect((await own.post(`/tokens/${made.body.id}/revoke`, {}, as(secret))).status).toBe(200);
  expect((await own.api("/session", as(made.body.secret))).status).toBe(401);
  for (let i = 0; i < 10; i++) await own.api("/session", as(`hf_${"x".repeat(43)}`));
  expect((await own.api("/session", as(secret))).body.code).toBe("TOO_MANY_FAILURES");
});

test("a token allows no more than its creator may do", async () => {
  const limited = open({ auth: () => ({ id: "adam", may: ["administer", "see"], envs: ["a"] }), envs: ["a", "b"] });
  const made = async (body: object) => (await limited.post("/tokens", { name: "t", ...body })).body.code ?? "made";
  expect(await made({ may: ["operate"], envs: ["a"] })).toBe("FORBIDDEN");
  expect(await made({ may: ["see"] })).toBe("ENV_FORBIDDEN");
  expect(await made({ may: ["see"], envs: ["a", "b"] })).toBe("ENV_FORBIDDEN");
  expect(await made({ may: ["see"], envs: ["a"] })).toBe("made");
});

test("an error that is not ours says nothing about itself", async () => {
  const failing = memoryStore();
  const logged: unknown[] = [];
  const broken = open({
    store: { ...failing, nodes: { ...failing.nodes, list: () => Promise.reject(new Error("canary-4711")) } },
    onAnswer: (answered) => logged.push(answered),
  });
  const { status, body } = await broken.api("/nodes");
  expect([status, body.code]).toEqual([500, "INTERNAL"]);
  expect(JSON.stringify([body, logged])).not.toContain("canary");
  expect(logged).toMatchObject([{ route: "nodes.list", status: 500, error: "Error", requestId: body.requestId }]);
});

test("a secret in a payload, an error or a header appears in no answer but the payload's own, and there redacted", async () => {
  const logged: unknown[] = [];
  const own = open({ onAnswer: (answered) => logged.push(answered) });
  const input = { password: "canary-1", nested: [{ apiKey: "canary-2" }], plain: "visible-3" };
  const id = await startRun(own.post, "order", input);
  await own.post(`/runs/${id}/signal`, { name: "go", payload: { secret: "canary-4" } });
  const texts: string[] = [];
  for (const path of [
    `/runs`,
    `/runs/${id}`,
    `/runs/${id}/journal`,
    `/runs/${id}/inbox`,
    `/runs/${id}/claims`,
    "/audit",
    "/overview",
  ]) {
    texts.push(JSON.stringify((await own.api(path, { headers: { authorization: "Bearer canary-5" } })).body));
  }
  texts.push(await (await own.send("/metrics")).text());
  texts.push(JSON.stringify(logged));
  expect(texts.join("\n")).not.toMatch(/canary|visible-3/);
  const shown = await own.api(`/runs/${id}/journal/1`);
  expect(shown.body).toMatchObject({ readable: true, value: { password: "[redacted]", plain: "visible-3" } });
  expect(JSON.stringify(shown.body)).not.toContain("canary");
  expect((await own.api("/audit?action=runs.payload")).body.rows).toMatchObject([{ by: "ann", object: `${id}/1` }]);
});
