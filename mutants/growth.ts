// Planted bugs in what keeps a cluster small: shared looks of callers that wait, and the removal of what is no longer needed.

import type { Killer, Mutant } from "./mutant.js";

const WATCHER: readonly Killer[] = [{ file: "test/engine/watcher.test.ts" }];

export const growth: readonly Mutant[] = [
  {
    name: "the watcher looks at the first keys only",
    breaks: "every caller that waits for a run learns of its end",
    edits: [
      {
        file: "src/engine/watcher.ts",
        find: "due.sort(([, a], [, b]) => a.dueAt - b.dueAt).slice(0, BATCH)",
        put: "due.slice(0, BATCH)",
      },
      {
        file: "src/engine/watcher.ts",
        find: "if (isStale) return;",
        put: "if (isStale || this.#watched.size > BATCH) return;",
      },
    ],
    killedBy: WATCHER,
  },
  {
    name: "a wake-up during a look is forgotten",
    breaks: "what this process has changed is seen at once",
    edits: [{ file: "src/engine/watcher.ts", find: "if (watched.isLooking) watched.isStale = true;", put: "" }],
    killedBy: WATCHER,
  },
  {
    name: "each waiter has looks of its own",
    breaks: "at most 20 statements a second, whatever the number of waiters",
    edits: [{ file: "src/engine/watcher.ts", find: "this.#watched.size > FEW", put: "this.#watched.size < 0" }],
    killedBy: WATCHER,
  },
  {
    name: "a failed look leaves its waiters waiting",
    breaks: "a caller learns that the store stays away",
    edits: [{ file: "src/engine/watcher.ts", find: "onFailed(answer.error)", put: "isNews = false" }],
    killedBy: WATCHER,
  },
  {
    name: "long results are not read",
    breaks: "a caller gets the run's result, however long it is",
    edits: [
      {
        file: "src/client/run-watcher.ts",
        find: "one.end === null ? [i] : []",
        put: "one.end === null && one.seq < 0 ? [i] : []",
      },
      {
        file: "src/client/run-handle.ts",
        find: "end ?? (await this.#store.journal.read(this.id, { after: seq - 1 }))?.entries.at(-1)",
        put: "end ?? undefined",
      },
    ],
    killedBy: [{ file: "test/client/waiters.test.ts" }],
  },
];
