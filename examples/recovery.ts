// What becomes of runs whose process died: by the policy of their program, and by a callback of your own.
import { createNode, workflow } from "holdfast";
import { recovery } from "holdfast/compat";
import { memoryStore } from "holdfast/memory";

const store = memoryStore();
const done: string[] = [];
let hang = true;
const work = (name: string) => async () => {
  done.push(name);
  if (hang && name.endsWith("second")) await new Promise(() => {}); // The process is killed here.
};
const twoSteps = (name: string) => async (ctx: { step(name: string, work: () => Promise<void>): Promise<void> }) => {
  await ctx.step("first", work(`${name} first`));
  await ctx.step("second", work(`${name} second`));
};
// The steps are recorded and may be repeated: continue where it was.
const importing = workflow("import", { recovery: "resume" }, twoSteps("import"));
// It reads everything again and writes it whole: begin again.
const report = workflow("report", { recovery: "restart" }, twoSteps("report"));
// Half of it may have happened, and a person must look: fail.
const payout = workflow("payout", { recovery: "fail" }, twoSteps("payout"));
const programs = [importing, report, payout];

// `reclaim: "off"`: the callback below decides, and not the nodes by themselves.
const quick = { timing: { lease: 300, renewEvery: 100, shutdownGrace: 0 }, recovery: { reclaim: "off" } } as const;
const first = await createNode({ store, programs, identity: { id: "first" }, ...quick });
const runs = await Promise.all(programs.map((program) => first.start(program)));
while (done.length < 6) await new Promise((resolve) => setTimeout(resolve, 10));
await first.stop(); // Its work ignores that: the runs are left to their leases, as after a crash.
await new Promise((resolve) => setTimeout(resolve, 400));
hang = false;
done.length = 0;

const { sweep, reconcileWorkflows } = recovery({ store });
const counts = await sweep({
  actorRegistry: { import: importing, report, payout },
  resolvePolicy: (orphan) => (orphan.group.program === "payout" ? "fail" : undefined), // undefined: as declared
});
console.log(counts);
console.log(await reconcileWorkflows());

await using second = await createNode({ store, programs, identity: { id: "second" }, ...quick });
const ends = await Promise.allSettled(runs.map(({ id }) => second.run(id).result()));
console.log(ends.map((end) => (end.status === "rejected" ? (end.reason.cause?.code ?? end.reason.code) : "completed")));
console.log(done.sort());
process.exit(); // The work that hangs for ever would keep the process up.
