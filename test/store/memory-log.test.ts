// The memory store's logs in long runs: the cost of an append does not grow with the length of the journal.

import { expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import { tablesOf } from "../../src/store/memory/table/open-stores.js";
import { append, claimNew, commitOf, commitOne } from "./scene.js";

test("an append extends the existing log: nothing of it is copied or read", async () => {
  const store = memoryStore();
  const [claim] = await claimNew(store, 1);
  const log = tablesOf(store).journal.get(claim!.runId)!;
  const first = [...log.values()][0];
  let seq = claim!.seq;
  let looked = 0;
  for (const name of ["values", "entries", "keys", "forEach"] as const) {
    const own = log[name].bind(log) as () => never;
    Object.defineProperty(log, name, {
      value: () => {
        looked++;
        return own();
      },
    });
  }
  for (let i = 0; i < 50; i++) {
    const answer = await commitOne(store, commitOf({ ...claim!, seq }, append(`step ${i}`)));
    seq = (answer as { seq: number }).seq;
  }
  expect(tablesOf(store).journal.get(claim!.runId)).toBe(log);
  expect({ entries: log.size, looked, same: log.get(1) === first }).toEqual({ entries: 51, looked: 0, same: true });
});
