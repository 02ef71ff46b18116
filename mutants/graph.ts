// Planted bugs in graphs: each does a node twice, loses one, or passes a gate that nobody opened.

import type { Mutant } from "./mutant.js";

const FOLD = "src/graph/fold.ts";
const PREFIXES = { file: "test/graph/crash-prefixes.test.ts" } as const;

export const graph: readonly Mutant[] = [
  {
    name: "a gap in a graph's journal is skipped over",
    breaks: "S8",
    edits: [
      {
        file: "src/store/postgres/read-journal.ts",
        find: "if (entries[seq - first]?.seq !== seq) throw new JournalCorrupt(runId, seq);",
        put: "if (seq < 0) throw new JournalCorrupt(runId, seq);",
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "an entry is missing" }],
  },
  {
    name: "a snapshot beyond the journal is believed",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/memory.ts",
        find: "if (snapshot.recorded > entry.seq - baseSeq - 1)",
        put: "if (snapshot.recorded < 0)",
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "a snapshot knows of nodes" }],
  },
  {
    name: "the visit is not in a node's key",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/position.ts",
        find: 'if (frame.path === "") return { path: node, visit: String(visit) };',
        put: 'if (frame.path === "") return { path: node, visit: String(Math.min(visit, 1)) };',
      },
    ],
    killedBy: [{ file: "test/graph/graph.test.ts", test: "a cycle visits a node again under another key" }],
  },
  {
    name: "a decision is not bound to its gate's visit",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "const { path: name, visit: key } = scene.place;",
        put: 'const { path: name } = scene.place;\n  const key = "1";',
      },
    ],
    killedBy: [{ file: "test/graph/people.test.ts", test: "each visit of a gate asks anew" }],
  },
  {
    name: "where a graph goes next is not in the node's commit",
    breaks: "S13",
    edits: [
      {
        file: FOLD,
        find: "memory.frames.set(id, { state, at: position, visits, moves: frame.moves + 1, failure: failed });",
        put: "memory.frames.set(id, { state, at: memory.begun && memory.recorded % 4 === 3 ? frame.at : position, visits, moves: frame.moves + 1, failure: failed });",
      },
    ],
    killedBy: [{ file: "test/graph/graph.test.ts", test: "nodes run in the order of their edges" }, PREFIXES],
  },
  {
    name: "items that are done are done again",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: 'if (done && "value" in done) return;',
        put: 'if (done && "value" in done && index < 0) return;',
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "a map whose process died" }],
  },
  {
    name: "branches are merged in the order in which they end",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "return () => ({ gather: { branches: branches.map(([name]) => name) } });",
        put: 'return () => ({ gather: { branches: [...memory.results.values()].map(({ place }) => place.path.split("/")[1]!) } });',
      },
    ],
    killedBy: [{ file: "test/graph/graph.test.ts", test: "branches run side by side" }],
  },
  {
    name: "a snapshot forgets messages that nobody was told",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/memory.ts",
        find: "memory.mail = [...snapshot.mail];",
        put: "memory.mail = [];",
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "a signal that came early" }],
  },
  {
    name: "each attempt tells its progress anew",
    breaks: "S17",
    edits: [
      {
        file: "src/graph/make-context.ts",
        find: "if (this.#told <= (memory.told.get(id) ?? 0)) return;",
        put: "",
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "kills its process is dead at the crash limit" }],
  },
  {
    name: "a rewind counts visits from where it goes back to",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/load.ts",
        find: "visits: { ...visits, [node]: visit } });",
        put: "visits: then.visits });",
      },
    ],
    killedBy: [{ file: "test/graph/fork-rewind.test.ts", test: "a failed run is taken back" }],
  },
];
