// Large values go to object storage; the journal keeps a reference. The name of an object is the hash of its content.
import { createHash } from "node:crypto";
import { createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

/** What S3 and similar services have; here a map. */
const bucket = new Map<string, Uint8Array>();

interface Stored {
  readonly object: string;
  readonly bytes: number;
}

/** The same content has the same name: a step that is executed again writes the same object. */
async function put(content: Uint8Array): Promise<Stored> {
  const object = createHash("sha256").update(content).digest("hex");
  bucket.set(object, content);
  return { object, bytes: content.length };
}

async function get({ object }: Stored): Promise<Uint8Array> {
  const content = bucket.get(object);
  if (!content) throw new Error(`object ${object} is gone`);
  return content;
}

const report = workflow("report", async (ctx, days: number) => {
  const raw = await ctx.step("collect", () => put(new Uint8Array(days * 1_000_000).fill(7)));
  return ctx.step("count", async () => ({ of: raw.bytes, sevens: (await get(raw)).filter((n) => n === 7).length }));
});

const store = memoryStore();
const node = await createNode({ store, programs: [report] });
const run = await node.start(report, 3);
console.log(await run.result({ timeout: "10s" }));
const { entries } = (await store.journal.read(run.id))!;
console.log(entries.reduce((sum, { payload }) => sum + (payload?.data.length ?? 0), 0) < 500);
await node.stop();
