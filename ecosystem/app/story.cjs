// What the application does, in plain JavaScript for every runtime and bundler: migrates, starts a run and works on it.

const { DATABASE_URL, SCHEMA, HOLD, STAY } = process.env;
const forEver = () => new Promise(() => setInterval(() => {}, 1_000));

async function main({ createNode, workflow, postgres }) {
  const store = postgres(DATABASE_URL, { schema: SCHEMA });
  await store.migrate();
  const order = workflow("order", async (ctx, id) => {
    const charged = await ctx.step("charge", () => {
      console.log("charge");
      return `charged ${id}`;
    });
    await ctx.sleep("cool off", "50ms");
    const shipped = await ctx.step("ship", async () => {
      console.log("ship");
      if (HOLD) await forEver();
      return "shipped";
    });
    return `${charged}, ${shipped}`;
  });
  const node = await createNode({ store, programs: [order] });
  const run = await node.start(order, "o-1", { key: "o-1" });
  console.log(`result ${await run.result({ timeout: "60s" })}`);
  if (STAY) await forEver();
  await node.stop();
  await store.close();
}

exports.run = (holdfast) =>
  main(holdfast).catch((error) => {
    console.error(error);
    process.exit(1);
  });
