// The store by hand: claim a run, write a step under the fence, complete it; a late writer is refused.
import { memoryStore } from "holdfast/memory";

const store = memoryStore();
const group = { env: "default", stack: null, queue: "orders", program: "ship-order", version: null };
const [groupId] = await store.runs.groupIds([group]);
const run = { id: crypto.randomUUID(), group, priority: 0, delayMs: 0, crashLimit: 5 };
await store.runs.insert([{ ...run, input: { codec: "json", data: "{}" } }]);

const request = { owner: crypto.randomUUID(), groupIds: [groupId!], limit: 1, leaseMs: 15_000 };
const [claim] = await store.runs.claim({ ...request, token: crypto.randomUUID() });
const [written] = await store.runs.commit([
  {
    claim: claim!,
    expectedSeq: claim!.seq,
    effects: [
      { kind: "append", entry: { kind: "step", name: "charge" } },
      { kind: "complete", output: { codec: "json", data: `"shipped"` } },
    ],
  },
]);
const [late] = await store.runs.commit([
  { claim: claim!, expectedSeq: 3, effects: [{ kind: "append", entry: { kind: "step", name: "charge again" } }] },
]);
console.log(written!.outcome, late!.outcome);
