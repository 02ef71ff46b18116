// The routes of a development server: only with a supervisor, only for its own processes, only with the permission.

import { afterAll, expect, test } from "vitest";
import { dashboard } from "../../src/admin/dashboard.js";
import type { Supervisor } from "../../src/admin/supervisor.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { byHeader, open, world } from "../admin/scene.js";

const calls: string[] = [];
const own = (verb: string, incarnation: string) => {
  if (incarnation !== "a-1") return null;
  calls.push(verb);
  return "node-a";
};
const supervisor: Supervisor = {
  state: () => ({
    app: "app.ts",
    problem: { message: "SyntaxError: no", frame: "at app.ts:1" },
    nodes: [{ name: "node-a", incarnation: "a-1", state: "up" }],
  }),
  kill: (incarnation) => own("kill", incarnation),
  freeze: (incarnation) => (own("freeze", incarnation) ? 8_000 : null),
  restart: (incarnation) => own("restart", incarnation),
};
const site = dashboard({ store: memoryStore(), auth: byHeader }, world, supervisor);
afterAll(() => site.close());

async function send(path: string, { method = "GET", user = "ann:see,operate", origin = "http://localhost:4110" } = {}) {
  const headers = {
    host: "localhost:4110",
    "x-user": user,
    origin,
    "x-holdfast": "1",
    "content-type": "application/json",
  };
  const body = method === "GET" ? {} : { body: "{}" };
  const response = await site.fetch(new Request(`http://localhost:4110/api/v1${path}`, { method, headers, ...body }));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test("a server with a supervisor shows its state, and does what is asked to its own processes", async () => {
  expect((await send("/session")).body["dev"]).toBe(true);
  expect((await send("/dev")).body).toMatchObject({ app: "app.ts", problem: { message: "SyntaxError: no" } });
  expect((await send("/dev/nodes/a-1/kill", { method: "POST" })).body).toEqual({ name: "node-a" });
  expect((await send("/dev/nodes/a-1/freeze", { method: "POST" })).body).toEqual({ seconds: 8 });
  expect((await send("/dev/nodes/a-1/restart", { method: "POST" })).body).toEqual({ name: "node-a" });
  expect(calls).toEqual(["kill", "freeze", "restart"]);
});

test.each(["kill", "freeze", "restart"])(
  "%s is refused for another process, another site and without operate",
  async (verb) => {
    calls.length = 0;
    const path = (node: string) => `/dev/nodes/${node}/${verb}`;
    expect((await send(path("1"), { method: "POST" })).body["code"]).toBe("NODE_NOT_HERE");
    expect((await send(path("a-1"), { method: "POST", user: "ann:see,administer" })).body["code"]).toBe("FORBIDDEN");
    expect((await send(path("a-1"), { method: "POST", origin: "http://evil.example" })).body["code"]).toBe(
      "ORIGIN_REFUSED",
    );
    expect((await send(path("a-1"))).status).toBe(404);
    expect(calls).toEqual([]);
  },
);

test("a server without a supervisor has none of these routes", async () => {
  const plain = open();
  expect((await plain.api("/session")).body.dev).toBe(false);
  expect((await plain.api("/dev")).status).toBe(404);
  expect((await plain.post("/dev/nodes/a-1/kill")).status).toBe(404);
  await plain.site.close();
});
