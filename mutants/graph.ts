// Planted bugs in graphs: each does a node twice, loses one, or passes a gate without a decision.

import type { Mutant } from "./mutant.js";

const FOLD = "src/graph/fold.ts";
const PREFIXES = { file: "test/graph/crash-prefixes.test.ts" } as const;

export const graph: readonly Mutant[] = [
  {
    name: "a gap in a graph's journal is skipped over",
    breaks: "S8",
    edits: [
      {
        file: "src/store/postgres/journal/read-journal.ts",
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
        find: "const { path: name, visit: key } = nodeVisit.place;",
        put: 'const { path: name } = nodeVisit.place;\n  const key = "1";',
      },
    ],
    killedBy: [{ file: "test/graph/people.test.ts", test: "each visit of a gate asks again" }],
  },
  {
    name: "the next node is not in the commit of the last one",
    breaks: "S13",
    edits: [
      {
        file: FOLD,
        find: "const at = stepOf(ended.map(({ record }) => record.next!));",
        put: "const at = memory.begun && memory.recorded % 4 === 0 ? frame.at : stepOf(ended.map(({ record }) => record.next!));",
      },
    ],
    killedBy: [{ file: "test/graph/graph.test.ts", test: "nodes run in the order of their edges" }, PREFIXES],
  },
  {
    name: "completed items are executed again",
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
    name: "a snapshot forgets messages that were not consumed",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/memory.ts",
        find: "frames: new Map(states), written, begun: true }",
        put: "frames: new Map(states), written, begun: true, mail: [] }",
      },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "an early signal" }],
  },
  {
    name: "each attempt counts its progress from the start",
    breaks: "S17",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "if (reported <= (memory.progressCounts.get(id) ?? 0)) return;",
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
        find: "{ ...rest, at, visits: visited }",
        put: "{ ...rest, at, visits: visited && root.visits }",
      },
    ],
    killedBy: [{ file: "test/graph/fork-rewind.test.ts", test: "a failed run is rewound" }],
  },
  {
    name: "a decision on one plan passes the gate for another",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "if (begun && !isSamePlan(",
        put: 'if (key === "" && begun && !isSamePlan(',
      },
    ],
    killedBy: [{ file: "test/graph/people.test.ts", test: "a decision is bound to the plan" }],
  },
  {
    name: "a caller's input may pose as a fork",
    breaks: "isolation",
    edits: [
      {
        file: "src/client/runs.ts",
        find: "if (isFork(input)) throw",
        put: "if (input === null && isFork(input)) throw",
      },
    ],
    killedBy: [{ file: "test/graph/user-code.test.ts", test: "pose as a fork" }],
  },
  {
    name: "an update is recorded before its reducer runs",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "const looks = chooses || record.gather || isReduced(plan.reducers, record.update);",
        put: "const looks = chooses;",
      },
    ],
    killedBy: [{ file: "test/graph/user-code.test.ts", test: "an update that its reducer cannot take" }],
  },
  {
    name: "the last node may be over its budget",
    breaks: "budgets",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "const isStopped = exceeded(plan.bounds, after.spent) || replay.gate.isClosed",
        put: "const isStopped = replay.gate.isClosed",
      },
    ],
    killedBy: [{ file: "test/graph/user-code.test.ts", test: "catches the end of its budget" }],
  },
  {
    name: "a failure edge leads out of a graph that was changed",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "if (error instanceof NeedsPeople || error instanceof AtBreakpoint) throw error;",
        put: "",
      },
    ],
    killedBy: [{ file: "test/graph/subgraphs.test.ts", test: "a subgraph that lost the node" }],
  },
  {
    name: "a fork whose state cannot be stored continues",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/execute.ts",
        find: "if (loaded.unwritten) await session.commit([beginsEffect(memory, codecs)]);",
        put: "try { if (loaded.unwritten) await session.commit([beginsEffect(memory, codecs)]); } catch {}",
      },
    ],
    killedBy: [{ file: "test/graph/fork-rewind.test.ts", test: "a state too large" }],
  },
  {
    name: "an attempt that timed out can get a signal that is not aborted",
    breaks: "L5",
    edits: [
      {
        file: "src/replay/attempt.ts",
        find: "if (this.#reason !== null) this.#limit.abort(this.#reason);",
        put: "",
      },
    ],
    killedBy: [{ file: "test/graph/user-code.test.ts", test: "finds its signal aborted" }],
  },
  {
    name: "an update of the state is forgotten after a crash",
    breaks: "S8",
    edits: [
      {
        file: "src/graph/fold.ts",
        find: "      applyUpdate(memory, plan, key!, value() as StateUpdate);\n",
        put: "      forgetUpdate(memory, key!);\n",
      },
    ],
    killedBy: [{ file: "test/graph/edit.test.ts", test: "the next holder of the run has the update" }],
  },
  {
    name: "an update that a reducer refuses fails the run",
    breaks: "L3",
    edits: [
      {
        file: "src/graph/state-update.ts",
        find: "  } catch {\n    return false;\n  }",
        put: "  } catch {\n    return true;\n  }",
      },
    ],
    killedBy: [{ file: "test/graph/edit.test.ts", test: "an update that a reducer refuses is recorded and dropped" }],
  },
  {
    name: "the data of a decision is dropped",
    breaks: "S9",
    edits: [
      {
        file: "src/replay/approval-call.ts",
        find: "  return { outcome: choice, by, note, ...(data !== undefined && { data }) };",
        put: "  return { outcome: choice, by, note, ...(data === null && { data }) };",
      },
    ],
    killedBy: [{ file: "test/graph/edit.test.ts", test: "a decision carries structured data to the run" }],
  },
  {
    name: "a node goes to a node that the graph does not have",
    breaks: "S8",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "const name = names.find((one) => !targets?.has(one));",
        put: "const name = names.find(() => !targets);",
      },
    ],
    killedBy: [{ file: "test/graph/edit.test.ts", test: "a node goes to another node than its edge leads to" }],
  },
];
