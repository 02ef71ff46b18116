// A developer's machine that only starts runs, and the shared node that works on them; both switched while they run.
import { createClient, createNode, workflow } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";

await using server = await startEmbedded();
const store = postgres(process.env["DATABASE_URL"] ?? server.url);
await store.migrate();

const report = workflow("report", { recovery: "restart" }, async (ctx, day: string) =>
  ctx.step("write", () => `report of ${day}`),
);
const programs = [report];

const laptop = await createNode({
  store,
  programs,
  identity: { id: "dev-jane" },
  stack: "jane",
  flow: { mode: "trigger_only" },
});
const shared = await createNode({
  store,
  programs,
  identity: { id: "qc-1" },
  stack: "qc",
  flow: { takeDeferred: "all" },
});

const run = await laptop.start(report, "monday");
console.log(await run.result());
const { deferred } = await run.status();
console.log(`asked by ${deferred?.by}, taken by ${deferred?.takenBy === shared.incarnation ? "qc-1" : "another"}`);

await laptop.mode.override(report, "full"); // this program is worked on here from now on
console.log(laptop.mode.status());

const operator = createClient({ store }); // from anywhere, by name
await operator.nodes.drain("qc-1");
console.log((await operator.nodes.list()).map(({ identity, mode, drain }) => `${identity} ${mode} ${drain}`).sort());

await Promise.all([laptop.stop(), shared.stop()]);
await store.close();
