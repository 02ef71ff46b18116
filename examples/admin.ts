// The admin API: mounted in a server of your own, with tokens. A script starts a run, cancels it and reads who did so.
import { createServer } from "node:http";
import { createToken, dashboard, tokens } from "holdfast/admin";
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";

await using server = await startEmbedded();
const store = postgres(process.env["DATABASE_URL"] ?? server.url);
await store.migrate();

const ops = dashboard({ store, auth: tokens(), basePath: "/ops" });
const web = createServer((request, response) => ops.handler(request, response)).listen(0, "127.0.0.1");
await new Promise((resolve) => web.once("listening", resolve));
const { port } = web.address() as { port: number };

const secret = await createToken(store, { name: "deploy script", may: ["see", "operate"] });
const call = async (path: string, body?: object) => {
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json", "x-holdfast": "1" };
  const request = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`http://127.0.0.1:${port}/ops/api/v1${path}`, request);
  // biome-ignore lint/suspicious/noExplicitAny: the types of every route are in the OpenAPI document.
  return (await response.json()) as any;
};

const { id } = await call("/runs", { program: "report", input: { day: "2026-01-01" } });
console.log((await call(`/runs/${id}/cancel`, { note: "wrong day" })).outcome);
const { rows } = await call(`/audit?object=${id}`);
console.log(`${rows[0].action} from ${rows[0].before.state}: ${rows[0].note}`);
console.log((await call("/tokens")).code);

await ops.close();
web.close();
await store.close();
