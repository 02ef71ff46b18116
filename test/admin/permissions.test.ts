// Every route with every permission: one that lacks it is refused and named, one that has it gets past.

import { afterAll, describe, expect, test } from "vitest";
import { ADDRESSES } from "../../src/admin/addresses.js";
import { PERMISSIONS } from "../../src/admin/permission.js";
import type { AnyRoute } from "../../src/admin/route.js";
import { ROUTES } from "../../src/admin/routes/index.js";
import { open, requestFor } from "./scene.js";

const { api, send, site } = open();
afterAll(() => site.close());
const routes = Object.entries(ROUTES) as [string, AnyRoute][];

test("the addresses for clients are those of the table", () => {
  const table = routes.map(([name, { method, path }]) => [name, `${method} ${path}`]);
  expect(Object.entries(ADDRESSES)).toEqual(table);
});

test("the table has no address twice", () => {
  const addresses = routes.map(([, { method, path }]) => `${method} ${path.replace(/:\w+/g, ":x")}`);
  expect(addresses.filter((one, i) => addresses.indexOf(one) !== i)).toEqual([]);
});

describe.each(routes)("%s", (_, route) => {
  const { path, sent } = requestFor(route);

  test.each(PERMISSIONS)("with %s alone", async (permission) => {
    const response = await send(`/api/v1${path}`, { ...sent, user: `ann:${permission}` });
    const allowed = route.may.length === 0 || route.may.includes(permission);
    if (allowed) {
      expect([401, 403, 415, 500], `${response.status}`).not.toContain(response.status);
      await response.body?.cancel();
    } else {
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: "FORBIDDEN", permission: route.may[0] });
    }
  });

  test("without a permission and without a caller", async () => {
    const without = await send(`/api/v1${path}`, { ...sent, user: "ann:" });
    expect(without.status === 403, `${without.status}`).toBe(route.may.length > 0);
    await without.body?.cancel();
    const unknown = await api(path, { ...sent, user: "" });
    expect([unknown.status, unknown.body.code]).toEqual([401, "UNAUTHENTICATED"]);
  });

  test("refuses a field that it does not know", async () => {
    if (route.streams) return;
    const isQuery = route.method === "GET" || route.method === "DELETE";
    const odd = isQuery
      ? await api(`${path}${path.includes("?") ? "&" : "?"}odd=1`, { ...sent })
      : await api(path, { ...sent, body: { ...(sent.body as object), odd: 1 } });
    expect([odd.status, odd.body.code]).toEqual([422, "INVALID_INPUT"]);
  });
});

test("an env that is not served, or not open to the caller, is refused", async () => {
  expect((await api("/runs?env=other")).body.code).toBe("ENV_FORBIDDEN");
  const shared = open({
    auth: () => ({ id: "bob", may: ["see"], envs: ["b"] }),
    envs: ["a", "b"],
  });
  expect((await shared.api("/runs?env=a")).body.code).toBe("ENV_FORBIDDEN");
  expect((await shared.api("/runs?env=b")).status).toBe(200);
  expect((await shared.api("/session")).body.envs).toEqual(["b"]);
});
