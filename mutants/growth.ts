// Planted bugs in what keeps a cluster small: shared looks of callers that wait, and the removal of what is no longer needed.

import type { Killer, Mutant } from "./mutant.js";

const WATCHER: readonly Killer[] = [{ file: "test/engine/watcher.test.ts" }];
const CLEANUP: readonly Killer[] = [{ file: "test/store/cleanup.test.ts" }];
const MEMORY: readonly Killer[] = [{ file: "test/conformance/memory.test.ts" }];
/** Those on PostgreSQL by the name of the case: the whole suite takes minutes on a busy machine. */
const postgres = (test: string): readonly Killer[] => [{ file: "test/conformance/postgres.test.ts", test }];
const LOOP: readonly Killer[] = [{ file: "test/engine/cleanup.test.ts" }];

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
  {
    name: "clean-up removes the entry that a generation begins with",
    breaks: "S8: the log has no gap",
    edits: [
      {
        file: "src/store/postgres/clean-up.ts",
        find: "where j.run_id = f.run_id and j.seq < f.seq and (j.seq < f.boundary",
        put: "where j.run_id = f.run_id and j.seq <= f.seq and (j.seq <= f.boundary",
      },
    ],
    killedBy: postgres("entries of past generations are removed"),
  },
  {
    name: "clean-up removes the entry that a generation begins with, as the simulator sees it",
    breaks: "S8: the log has no gap",
    edits: [
      {
        file: "src/store/memory/clean-up.ts",
        find: "entry.seq < seq && (entry.seq < boundary",
        put: "entry.seq <= seq && (entry.seq <= boundary",
      },
    ],
    killedBy: [{ seeds: 60 }],
  },
  {
    name: "clean-up removes the starts by which restarts are counted",
    breaks: "S17: crashes in a row are bounded",
    edits: [
      {
        file: "src/store/postgres/clean-up.ts",
        find: "and (j.seq < f.boundary or j.kind not in ('start', 'retried'))",
        put: "",
      },
    ],
    killedBy: postgres("restarts after crashes stay counted"),
  },
  {
    name: "clean-up forgets a message that may be sent again",
    breaks: "S12: a message is accepted once",
    edits: [
      {
        file: "src/store/memory/clean-up.ts",
        find: "return !isOnce && atUs > nowUs - toUs(MESSAGE_MEMORY_MS);",
        put: "return !isOnce && atUs > nowUs;",
      },
    ],
    killedBy: MEMORY,
  },
  {
    name: "a lease that was removed begins again at its first epoch",
    breaks: "S2: epochs rise, so that a fence outside the store refuses the old owner",
    edits: [
      {
        file: "src/store/postgres/clean-up.ts",
        find: "greatest((select last_value from ${s}.lease_floor), (select max(epoch) from old))",
        put: "(select last_value from ${s}.lease_floor)",
      },
    ],
    killedBy: CLEANUP,
  },
  {
    name: "the memory store forgets the epochs of leases that were removed",
    breaks: "S2: epochs rise, so that a fence outside the store refuses the old owner",
    edits: [
      {
        file: "src/store/memory/clean-up.ts",
        find: "tables.leaseFloor.epoch = Math.max(tables.leaseFloor.epoch, epoch);",
        put: "void epoch;",
      },
    ],
    killedBy: MEMORY,
  },
  {
    name: "clean-up removes a node that still holds a run",
    breaks: "a sweep knows whose claim it takes",
    edits: [
      {
        file: "src/store/postgres/clean-up.ts",
        find: "where r.state = 'running' and r.owner = n.incarnation offset 0",
        put: "where r.state = 'running' and r.owner = n.incarnation and false offset 0",
      },
    ],
    killedBy: postgres("nodes that stopped are removed"),
  },
  {
    name: "clean-up goes through the runs of every env",
    breaks: "what a node does stays in its env",
    edits: [{ file: "src/store/postgres/clean-up.ts", find: "and g.env = $1 and r.base_seq", put: "and r.base_seq" }],
    killedBy: postgres("what is younger, another env's or beyond the limit"),
  },
  {
    name: "clean-up waits for rows that others have locked",
    breaks: "one locked row stalls nothing",
    edits: [
      {
        file: "src/store/postgres/clean-up.ts",
        find: "order by j.seq limit $3 for update skip locked",
        put: "order by j.seq limit $3 for update",
      },
    ],
    killedBy: CLEANUP,
  },
  {
    name: "a part of the clean-up that fails ends it",
    breaks: "one part that fails holds up no other",
    edits: [
      {
        file: "src/engine/upkeep/cleanup.ts",
        find: '.catch((error) => bus.emit("housekeeping.failed", { error }))',
        put: "",
      },
    ],
    killedBy: LOOP,
  },
];
