// Planted bugs in what keeps a cluster small: shared polling for waiting callers, and clean-up.

import type { Killer, Mutant } from "./mutant.js";

const WATCHER: readonly Killer[] = [{ file: "test/engine/watcher.test.ts" }];
const CLEANUP: readonly Killer[] = [{ file: "test/store/cleanup.test.ts" }];
const MEMORY: readonly Killer[] = [{ file: "test/conformance/memory.test.ts" }];
/** Conformance cases on PostgreSQL, each by its name: the whole suite takes minutes on a busy machine. */
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
    name: "a wake during a poll is forgotten",
    breaks: "a change made by this process is seen at once",
    edits: [{ file: "src/engine/watcher.ts", find: "if (watched.isLooking) watched.isStale = true;", put: "" }],
    killedBy: WATCHER,
  },
  {
    name: "each waiter polls separately",
    breaks: "at most 20 statements a second, whatever the number of waiters",
    edits: [{ file: "src/engine/watcher.ts", find: "this.#watched.size > FEW", put: "this.#watched.size < 0" }],
    killedBy: WATCHER,
  },
  {
    name: "a failed poll leaves its callers waiting",
    breaks: "a caller learns that the store is unavailable",
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
    breaks: "a reclaim knows whose claim it takes",
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
    name: "clean-up waits for locked rows",
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
  {
    name: "a ninth attribute replaces nothing and is kept",
    breaks: "a run has at most eight search attributes",
    edits: [
      {
        file: "src/store/memory/run/run-attributes.ts",
        find: 'if (kept.length > MOST_ATTRIBUTES) return { outcome: "too many" };',
        put: "",
      },
    ],
    killedBy: MEMORY,
  },
  {
    name: "an event of a workflow is identified by its payload",
    breaks: "each call of ctx.emit is an event of its own",
    edits: [
      {
        file: "src/workflow/workflow-context.ts",
        find: "options.id ?? idempotencyKey",
        put: "options.id ?? `${idempotencyKey}`.slice(0, 3)",
      },
    ],
    killedBy: [{ file: "test/workflow/run-writes.test.ts" }],
  },
];
