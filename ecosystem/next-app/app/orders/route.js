import { client } from "../../lib/holdfast.js";
import { order } from "../../lib/order.js";

export const dynamic = "force-dynamic";

export async function POST(request) {
  const { id } = await request.json();
  const run = await client.start(order, id, { key: id });
  return Response.json({ run: run.id, result: await run.result({ timeout: "30s" }) }, { status: 202 });
}
