// Tasks in place of graphile-worker: the last save of a document is indexed, bookings of an account run one after another.
import { createNode, cron, event, on, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const saved = event<{ id: string; version: number }>()("document.saved");

const index = workflow(
  "index_document",
  { on: [on(saved, { subject: "id", debounce: "300ms" })] },
  async (ctx, document) => ctx.step("index", () => `indexed ${document.id}, version ${document.version}`),
);
const book = workflow("book", { serial: "account" }, async (ctx, booking: { account: string; cents: number }) =>
  ctx.step("book", { retry: { attempts: 25, maxDelay: "6h" } }, () => bookings.push(booking.cents)),
);
const cleanUp = workflow("clean_up", { on: [cron("0 4 * * *")] }, async (ctx) => ctx.step("delete", () => 0));

const bookings: number[] = [];
const store = memoryStore(); // in production: postgres(pool)
await using node = await createNode({ store, programs: [index, book, cleanUp], concurrency: 5 });

await node.emit(saved, { id: "d-1", version: 6 });
const { runs } = await node.emit(saved, { id: "d-1", version: 7 });
for (const { runId, outcome } of runs) if (runId) console.log(outcome, await node.run(runId).result());

const booked = await node.startMany(
  book,
  [300, -100, 25].map((cents) => ({ input: { account: "a-1", cents } })),
);
for (const one of booked) if (one.outcome === "started") await one.run.result();
console.log(bookings);
