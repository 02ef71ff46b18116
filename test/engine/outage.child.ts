// A node process at default settings, for the test that stops its database; reports what happens to its work.

import { setTimeout as pass } from "node:timers/promises";
import { createNode, workflow } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";

const [url, name] = process.argv.slice(2) as [string, string];
const tell = (event: string, detail?: unknown) => process.send!({ event, detail });

/** Bound by these pauses and not by the machine, so that its pace can be compared. */
const short = workflow("short", async (ctx) => {
  await ctx.step("one", () => pass(100));
  await ctx.step("two", () => pass(100));
});
/** Longer than the outage, and than the lease. */
const long = workflow("long", async (ctx, ms: number) =>
  ctx.step("long", async ({ signal }) => {
    tell("long begun");
    const aborted = () => tell("aborted", String(signal.reason));
    signal.addEventListener("abort", aborted);
    await pass(ms);
    signal.removeEventListener("abort", aborted);
  }),
);

const node = await createNode({ store: postgres(url), programs: [short, long], identity: { id: name } });
node.on("run.settled", ({ program }) => tell("settled", program));
node.on("run.reclaimed", (reclaimed) => tell("reclaimed", reclaimed));
node.on("claim.lost", (lost) => tell("lost", lost));
node.on("run.broken", ({ error }) => tell("broken", String(error)));
process.on("disconnect", () => process.exit(0));
tell("ready");
