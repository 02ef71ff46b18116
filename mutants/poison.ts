// Planted bugs in the handling of runs whose holders die or are cut off, and in how runs are shared among nodes.

import type { Mutant } from "./mutant.js";

const VERDICT = "src/store/postgres/claim/reclaim-orphans-sql.ts";
const MEMORY_VERDICT = "src/store/memory/claim/reclaim-expired.ts";
const CONFORMANCE = "test/conformance/postgres.test.ts";

export const poison: readonly Mutant[] = [
  {
    name: "a node claims more runs while it executes a suspect",
    breaks: "S22",
    edits: [
      {
        file: "src/engine/claiming/solitary.ts",
        find: "    this.#held += suspects;\n    this.#closed = true;",
        put: "    this.#held += suspects;",
      },
    ],
    killedBy: [{ file: "test/engine/solitary.test.ts", test: "one suspect at a time" }],
  },
  {
    name: "a suspect begins next to the runs claimed with it",
    breaks: "S22",
    edits: [
      {
        file: "src/engine/claiming/solitary.ts",
        find: "while (active() > 1 && world.monotonicNow() < until &&",
        put: "while (active() < 0 && world.monotonicNow() < until &&",
      },
    ],
    killedBy: [{ file: "test/engine/solitary.test.ts", test: "others may end first" }],
  },
  {
    name: "a long suspect idles its node for ever",
    breaks: "L1",
    edits: [
      {
        file: "src/engine/claiming/solitary.ts",
        find: "world.after(aloneMs(session.run.crashes), () => this.#open());",
        put: "world.after(aloneMs(session.run.crashes), () => {});",
      },
    ],
    killedBy: [{ file: "test/engine/solitary.test.ts", test: "a long suspect" }],
  },
  {
    name: "suspects executed like any other run",
    breaks: "S22",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: "const suspects = slots > 0 ? solitary.ask() : 0;",
        put: "const suspects = 0;",
      },
      {
        file: "src/store/memory/claim/claim-runs.ts",
        find: "suspects !== 0 || !isSuspect(row, row.crashes)",
        put: "suspects !== 1 || row.crashes >= 0",
      },
    ],
    killedBy: [{ file: "test/simulator/poison.test.ts" }],
  },
  {
    name: "a claim brings every suspect",
    breaks: "S22",
    edits: [
      {
        file: "src/store/postgres/claim/claim-runs.ts",
        find: "order by priority, available_at, id limit 1))",
        put: "order by priority, available_at, id))",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "one suspect at most" }],
  },
  {
    name: "a run at its crash limit is dead, whatever else was in the process",
    breaks: "S22",
    edits: [{ file: VERDICT, find: "or not ${beside(s)}))`", put: "or true))`" }],
    killedBy: [{ file: CONFORMANCE, test: "held nothing else" }],
  },
  {
    name: "runs of the same process are judged page by page",
    breaks: "S22",
    edits: [{ file: VERDICT, find: "where k.owner = x.owner and k.run_id <> x.id", put: "where false" }],
    killedBy: [{ file: CONFORMANCE, test: "however small the pages" }],
  },
  {
    name: "a holder that was cut off counts as dead",
    breaks: "S22",
    edits: [{ file: VERDICT, find: "select n.seen_at > k.at from", put: "select false from" }],
    killedBy: [{ file: CONFORMANCE, test: "was cut off" }],
  },
  {
    name: "a holder that was cut off counts as dead, simulated",
    breaks: "S22",
    edits: [{ file: MEMORY_VERDICT, find: "node.leaseMs !== null && node.seenAtUs > atUs", put: "node.seenAtUs < 0" }],
    killedBy: [{ file: "test/simulator/poison.test.ts" }],
  },
  {
    name: "a run that live holders lose is claimed again at once",
    breaks: "L1",
    edits: [{ file: VERDICT, find: "when e.losses > 0 then", put: "when e.losses > 99 then" }],
    killedBy: [{ file: CONFORMANCE, test: "waits longer each time" }],
  },
  {
    name: "a suspect that is handed back is no longer a suspect",
    breaks: "S22",
    edits: [
      {
        file: "src/store/postgres/claim/commit.ts",
        find: "when f.failed or (f.to_state = 'waiting' and not f.continues and f.n = 1)$",
        put: "when f.failed$",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "handed back unused" }],
  },
  {
    name: "the reason of a dead run names holders that live",
    breaks: "S22",
    edits: [{ file: VERDICT, find: "and k.counted and not ${wasLost(s)}\n       order", put: "\n       order" }],
    killedBy: [{ file: CONFORMANCE, test: "names the processes that died" }],
  },
  {
    name: "a journal with a gap is tried until its crashes are used up",
    breaks: "S8",
    edits: [
      {
        file: "src/engine/corrupt-journal.ts",
        find: "if (!(error instanceof JournalCorrupt) ||",
        put: "if (error instanceof JournalCorrupt ||",
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "an entry is missing" }],
  },
  {
    name: "the first node that claims takes everything",
    breaks: "L6",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: "if (peers <= 1) return room;",
        put: "if (peers <= 1 || looks >= 0) return room;",
      },
    ],
    killedBy: [{ file: "test/scenarios/fair-share.test.ts" }],
  },
  {
    name: "a node does not learn how many peers it has",
    breaks: "L6",
    edits: [{ file: "src/engine/engine.ts", find: "        this.#peers = peers;\n", put: "" }],
    killedBy: [{ file: "test/scenarios/fair-share.test.ts", test: "new runs" }],
  },
];
