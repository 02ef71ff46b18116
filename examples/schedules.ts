// A report every night at two in Berlin and a sync every second: listed, fired by hand, paused.
import { createNode, cron, every, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const report = workflow(
  "report",
  { on: [cron("0 2 * * *", { timezone: "Europe/Berlin", catchUp: "all" })] },
  async (ctx, input) => ctx.step("send", () => `sent for ${input.window}`),
);
const sync = workflow("sync", { on: [every("1s")] }, async (ctx, input) => ctx.step("pull", () => input.window));

await using node = await createNode({ store: memoryStore(), programs: [report, sync] });

for (const { program, schedule, catchUp, nextFires } of await node.schedules.list({ next: 3 })) {
  console.log(program, "|", schedule, "|", catchUp, "|", nextFires.length);
}
const fired = await new Promise<{ program: string; windows: readonly string[] }>((resolve) => {
  node.on("schedule.fired", resolve);
});
console.log(fired.program, fired.windows.length);

await node.schedules.pause("report", { by: "ann" });
const run = await node.schedules.fire<string>("report");
console.log((await run.result()).startsWith("sent for 2"));
