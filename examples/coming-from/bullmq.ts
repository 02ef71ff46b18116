// A flow in place of BullMQ: a parent with children under a rate limit, progress for watchers, one result.
import { createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const transcode = workflow(
  "transcode",
  { concurrency: 4, rate: { limit: 10, per: "1s" } },
  async (ctx, { video, format }: { video: string; format: string }) => {
    await ctx.progress(`${format}: 50 %`);
    return ctx.step("encode", { retry: 3 }, () => `${video}.${format}.mp4`);
  },
);
const publish = workflow("publish", async (ctx, video: string) => {
  const formats = ["720p", "1080p"];
  const files = await ctx.children(
    transcode,
    formats.map((format) => ({ video, format })),
  );
  return ctx.step("announce", () => `${video}: ${files.join(", ")}`);
});

const store = memoryStore(); // in production: postgres(url)
await using node = await createNode({ store, programs: [transcode, publish] });

const job = await node.start(publish, "v-1", { key: "v-1", priority: 1 });
console.log(await job.result());

const { runs } = await node.runs.list({ parent: job.id });
const [child] = runs.map(({ id }) => node.run(id));
for await (const event of child!.watch())
  if (event.type === "progress") console.log(String(event.value).split(": ")[1]);
