// Fastify: a plugin that decorates the server with a node and stops it when the server closes.
import Fastify, { type FastifyInstance } from "fastify";
import { createNode, type Node, workflow } from "holdfast";
import { postgres } from "holdfast/postgres";

declare module "fastify" {
  interface FastifyInstance {
    holdfast: Node;
  }
}

const order = workflow("order", async (ctx, input: { id: string; cents: number }) => {
  return ctx.step("charge", () => `charged ${input.cents} for ${input.id}`);
});

async function holdfast(app: FastifyInstance, { url }: { url: string }): Promise<void> {
  const store = postgres(url);
  await store.migrate();
  // Fastify closes the server on a signal, and the hook below stops the node.
  const node = await createNode({ store, programs: [order], signals: false });
  app.decorate("holdfast", node);
  app.addHook("onClose", async () => {
    await node.stop();
    await store.close();
  });
}
/** Decorates the server itself, and not a scope of its own. */
const plugin = Object.assign(holdfast, { [Symbol.for("skip-override")]: true });

const app = Fastify();
await app.register(plugin, { url: process.env["DATABASE_URL"]! });
app.post<{ Body: { id: string; cents: number } }>("/orders", async ({ body }, reply) => {
  const run = await app.holdfast.start(order, body, { key: body.id });
  return reply.code(202).send({ run: run.id });
});
app.get<{ Params: { run: string } }>("/orders/:run", async ({ params }) => ({
  result: await app.holdfast.run(params.run).result({ timeout: "5s" }),
}));

const payload = { id: "o-1", cents: 300 };
const started = await app.inject({ method: "POST", url: "/orders", payload });
console.log(started.statusCode);
console.log((await app.inject({ url: `/orders/${started.json().run}` })).json());
await app.close();
