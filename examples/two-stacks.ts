// A monitor on two stacks of one database: each stack works on its own episodes, a laptop only starts them, and reports go out once.
import { createClient, createNode, event, on } from "holdfast";
import { actor, expectation } from "holdfast/actor";
import { memoryStore } from "holdfast/memory";

const store = memoryStore(); // in production: postgres(url)

const updated = event<{ resourceId: string; used: number }>()("resource.updated");
const sent: string[] = [];

const monitor = actor("resource-monitor", {
  concurrency: 3,
  expectations: {
    // One episode per event in each stack: both look at it.
    checkLimits: expectation(
      { on: [on(updated, { subject: "resourceId", per: "stack" })], recovery: "restart", budget: { timeout: "2m" } },
      async (ctx, { resourceId, used }) => {
        if (used < 90) return "fine";
        // Both may notice, one of them reports.
        const { outcome } = await ctx.output(`full ${resourceId}`, () => void sent.push(`${resourceId}: ${used} %`));
        return outcome;
      },
    ),
  },
});
const programs = [monitor];

const east = await createNode({ store, programs, identity: { id: "east-1" }, stack: "east" });
const west = await createNode({ store, programs, identity: { id: "west-1" }, stack: "west" });
const laptop = await createNode({
  store,
  programs,
  identity: { id: "dev-jane" },
  stack: "east",
  flow: { mode: "trigger_only" },
});

// The same webhook reaches both stacks, and the first one twice.
const webhook = { resourceId: "r-7", used: 93 };
const emitted = [
  await laptop.emit(updated, webhook),
  await laptop.emit(updated, webhook),
  await west.emit(updated, webhook),
];
console.log(emitted.map(({ runs }) => runs[0]?.outcome));
const client = createClient({ store });
const results = emitted.map(({ runs }) => client.run(runs[0]!.runId!).result());
console.log([...new Set(await Promise.all(results))].sort(), sent);

const { runs } = await client.runs.list({ program: monitor.expectations.checkLimits });
const taken = runs.map(({ group, deferred }) => {
  const taker = deferred?.takenBy === east.incarnation ? "east-1" : deferred?.takenBy;
  return `${group.stack}: ${deferred ? `asked for by ${deferred.by}, taken by ${taker}` : "started there"}`;
});
console.log(taken.sort());
console.log((await client.runs.list({ deferred: true })).runs.length, "deferred");

await Promise.all([laptop.stop(), east.stop(), west.stop()]);
