// The typed client: reads, changes and errors by the names of the route table, with their types.

import { AdminRefused, adminClient } from "holdfast/admin";
import { expect, expectTypeOf, test } from "vitest";
import { HOST, open } from "./scene.js";

test("calls routes by name; an error has its code", async () => {
  const { site } = open({ auth: () => ({ id: "ann", may: ["see", "operate"] }) });
  const client = adminClient({ url: `http://${HOST}/`, fetch: (request) => site.fetch(withHost(request)) });
  const started = await client.call("runs.start", { program: "order", input: { a: 1 } }, { idempotencyKey: "k" });
  const again = await client.call("runs.start", { program: "order", input: { a: 1 } }, { idempotencyKey: "k" });
  expect(again.id).toBe(started.id);
  const { rows } = await client.call("runs.list", { program: "order", limit: 5 });
  expectTypeOf(rows[0]!.state).toExtend<string>();
  expect(rows.map(({ id }) => id)).toEqual([started.id]);
  expect(await client.call("runs.cancel", { id: started.id })).toEqual({ outcome: "cancelled" });
  const refused = await client.call("tokens.list", {}).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(AdminRefused);
  expect(refused).toMatchObject({ status: 403, code: "FORBIDDEN" });
  await site.close();
});

function withHost(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.set("host", HOST);
  headers.set("origin", `http://${HOST}`);
  return new Request(request, { headers });
}
