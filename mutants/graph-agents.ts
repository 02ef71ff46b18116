// Planted bugs in what agents built on graphs rely on: questions, steps side by side, breakpoints, and values that are kept.

import type { Mutant } from "./mutant.js";

const INTERRUPT = { file: "test/graph/interrupt.test.ts" } as const;
const FAN_OUT = { file: "test/graph/fan-out.test.ts" } as const;
const HELD = { file: "test/graph/held-update.test.ts" } as const;
const KEPT = { file: "test/graph/kept.test.ts" } as const;
const RUN_STREAM = { file: "test/graph/run-stream.test.ts" } as const;
const USER_CODE = { file: "test/graph/user-code.test.ts" } as const;
const SIDE_BY_SIDE = { file: "test/graph/side-by-side.test.ts" } as const;

export const graphAgents: readonly Mutant[] = [
  {
    name: "a trial of reducers changes what is recorded",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "record.gather || !looks ? record : asStored(codecs, record)",
        put: "record.gather || !looks || asStored(codecs, record) ? record : null",
      },
    ],
    killedBy: [{ file: "test/graph/user-code.test.ts", test: "leave the recorded result as it was returned" }],
  },
  {
    name: "a run that ends late undoes what a later run of its thread added",
    breaks: "S1",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "    if (by !== null && by !== memory.threadFrom && by !== session.run.runId) return;\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/graph/kept.test.ts", test: "a thread continues with the last state" }],
  },
  {
    name: "an answer counts for a question with other choices",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/node/interrupt.ts",
        find: 'payloadHash(before.choices) !== payloadHash(now.choices) ? "choices have" : null',
        put: "null",
      },
    ],
    killedBy: [{ file: "test/graph/interrupt.test.ts", test: "another with other choices" }],
  },
  {
    name: "a breakpoint before the first node is written before the beginning",
    breaks: "S8",
    edits: [
      {
        file: "src/graph/execute.ts",
        find: "return [...beginning.take(), ...error.effects(codecs)];",
        put: "return error.effects(codecs);",
      },
    ],
    killedBy: [{ file: "test/graph/fan-out.test.ts", test: "breakpoints are set and cleared" }],
  },
  {
    name: "a function gets past its question by catching it",
    breaks: "S12",
    edits: [
      { file: "src/graph/node/interrupt.ts", find: "if (questions.open) {", put: "if (questions.open && false) {" },
    ],
    killedBy: [{ ...INTERRUPT, test: "a function that catches the interrupt does not get past it" }],
  },
  {
    name: "an answer counts for another plan",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/node/interrupt.ts",
        find: 'return "plan has";',
        put: "return null;",
      },
    ],
    killedBy: [{ ...INTERRUPT, test: "an answer to one plan does not count for another" }],
  },
  {
    name: "a step moves on with its first node",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/fold.ts",
        find: 'if (ended.some(({ result }) => !result || !("value" in result))) return;',
        put: 'if (ended.every(({ result }) => !result || !("value" in result))) return;',
      },
    ],
    killedBy: [{ ...FAN_OUT, test: "an edge leads to several nodes side by side" }],
  },
  {
    name: "a resumed run stops at the same breakpoint again",
    breaks: "L3",
    edits: [
      {
        file: "src/graph/breakpoint.ts",
        find: "if (!breakpoints || frame.stopped) return null;",
        put: "if (!breakpoints) return null;",
      },
    ],
    killedBy: [{ ...FAN_OUT, test: "a run pauses at the breakpoints it was started with" }],
  },
  {
    name: "what a failed attempt put into the store is written by the next",
    breaks: "S6",
    edits: [
      {
        file: "src/graph/run-node.ts",
        find: "store: new AttemptStore(replay.session, codecs),",
        put: "store: (memory as unknown as { s: AttemptStore }).s ??= new AttemptStore(replay.session, codecs),",
      },
    ],
    killedBy: [{ ...KEPT, test: "a node's writes to the store are committed with its result" }],
  },
  {
    name: "a lost claim writes kept values",
    breaks: "S4",
    edits: [
      {
        file: "src/store/postgres/kept/kept.ts",
        find: "select $1::uuid is null or exists (select from held) as is_allowed",
        put: "select $1::uuid is null or count(*) >= 0 as is_allowed from held",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "a write under a claim needs the claim" }],
  },
  {
    name: "a cached result of another key is used",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/node/node-cache.ts",
        find: "return hash === this.#hash ? result : null;",
        put: "return hash ? result : null;",
      },
    ],
    killedBy: [{ ...KEPT, test: "results of two keys in one place of the cache are not confused" }],
  },
  {
    name: "a stream grows as long as its run",
    breaks: "bounded streams",
    edits: [
      { file: "src/graph/node/run-stream.ts", find: "if (old >= 0) keeps.push(", put: "if (old >= 1e9) keeps.push(" },
    ],
    killedBy: [{ file: "test/graph/run-stream.test.ts", test: "a run keeps its last 256 rows" }],
  },
  {
    name: "runs of a thread work side by side",
    breaks: "S14",
    edits: [
      {
        file: "src/client/graph/graph-runs.ts",
        find: '{ wrap, limits: [{ kind: "serial", key, max: 1 }] }',
        put: "{ wrap, limits: key ? [] : [] }",
      },
    ],
    killedBy: [{ ...KEPT, test: "a thread continues with the last state" }],
  },
  {
    name: "a plain retry of a damaged run resumes from a snapshot",
    breaks: "S8",
    edits: [
      { file: "src/graph/load.ts", find: "resumedFrom(entry, codecs) > after", put: "resumedFrom(entry, codecs) >= 0" },
    ],
    killedBy: [{ file: "test/graph/recovery.test.ts", test: "a person resumes a damaged run" }],
  },
  {
    name: "a cancelled run that is rewound is cancelled again",
    breaks: "L3",
    edits: [
      {
        file: "src/graph/fold.ts",
        find: 'memory.mail = memory.mail.filter(({ key }) => key !== "cancel" && !key?.startsWith("pause:"));',
        put: 'memory.mail = memory.mail.filter(({ key }) => !key?.startsWith("pause:"));',
      },
    ],
    killedBy: [{ file: "test/graph/fork-rewind.test.ts", test: "a run that was cancelled at work is rewound" }],
  },
  {
    name: "a run cancelled in its first node does not record where it was",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/execute.ts",
        find: 'end.kind === "fail" ? [...beginning.take(), end] : [end]',
        put: "beginning ? [end] : []",
      },
    ],
    killedBy: [{ file: "test/graph/fork-rewind.test.ts", test: "cancelled in the first milliseconds" }],
  },
  {
    name: "updates that a reducer refuses together are recorded",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "if (isStep) this.#together",
        put: "if (isStep && !here) this.#together",
      },
    ],
    killedBy: [{ ...SIDE_BY_SIDE, test: "but not together, fail the last node" }],
  },
  {
    name: "a late result of a dropped attempt counts against the others",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "if (attempt && this.#together",
        put: "if (attempt === null && this.#together",
      },
    ],
    killedBy: [{ ...SIDE_BY_SIDE, test: "late result of an attempt" }],
  },
  {
    name: "nodes side by side count as one against the limit of iterations",
    breaks: "S14",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "{ all: frame.visited + before, own: frame.moves + before }",
        put: "{ all: frame.visited, own: frame.moves }",
      },
    ],
    killedBy: [{ ...SIDE_BY_SIDE, test: "count one by one against the limit" }],
  },
  {
    name: "a failed node's edge is taken though the others' updates do not fit",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/together.ts",
        find: "this.forget(place);\n      throw",
        put: "this.forget(place);\n      if (record.failure) return;\n      throw",
      },
    ],
    killedBy: [{ ...SIDE_BY_SIDE, test: "unless those of the others do not either" }],
  },
  {
    name: "a run with an update that no reducer takes cannot be rewound",
    breaks: "L3",
    edits: [{ file: "src/graph/fold.ts", find: "if (memory.problem && !memory.rewind)", put: "if (memory.problem)" }],
    killedBy: [{ ...SIDE_BY_SIDE, test: "newer code refuses is rewound to before it" }],
  },
  {
    name: "a fork loses an update that counted before its node",
    breaks: "S1",
    edits: [
      { file: "src/graph/state-at.ts", find: "if (kind === UPDATED) applyUpdate", put: "if (!kind) applyUpdate" },
    ],
    killedBy: [{ ...SIDE_BY_SIDE, test: "an update during a fan-out counts after it" }],
  },
  {
    name: "a rewind opens a live run",
    breaks: "S16",
    edits: [
      {
        file: "src/kernel/run/run-state.ts",
        find: '[...RETRYABLE_STATES, "completed", "cancelled", "paused"]',
        put: '[...RETRYABLE_STATES, "completed", "cancelled", "paused", "waiting"]',
      },
    ],
    killedBy: [
      { file: "test/conformance/memory.test.ts", test: "a rewind also opens completed, cancelled and paused runs" },
    ],
  },
  {
    name: "an update is applied in the middle of a map",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/state-update.ts",
        find: "return !isAtGate(memory, plan) && !(memory.isQuiet",
        put: "return memory.problem !== null && !(memory.isQuiet",
      },
    ],
    killedBy: [{ ...HELD, test: "does not mix the results of two lists" }],
  },
  {
    name: "a function runs again with an update that came meanwhile",
    breaks: "S13",
    edits: [
      {
        file: "src/graph/execute.ts",
        find: "return heldEffects(memory, messages, codecs);",
        put: "return heldEffects(memory, messages.slice(0, 0), codecs);",
      },
    ],
    killedBy: [{ ...HELD, test: "runs again with the state that it began with" }],
  },
  {
    name: "an update during the last node is lost",
    breaks: "S12",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "const isHeld = isStopped || after.mail",
        put: "const isHeld = isStopped || [...after.mail.slice(0, 0)]",
      },
    ],
    killedBy: [{ ...HELD, test: "an update during the last node counts before the end" }],
  },
  {
    name: "visits in progress do not count against the limit of iterations",
    breaks: "S14",
    edits: [
      {
        file: "src/graph/fold.ts",
        find: "return open.reduce((sum, count) => sum + count, iterations);",
        put: "return open.length > 0 ? iterations : 0;",
      },
    ],
    killedBy: [{ file: "test/graph/iterations.test.ts", test: "holds for a node next to a subgraph of three" }],
  },
  {
    name: "a reducer that changes its old value in place is noticed after nodes side by side are recorded",
    breaks: "S8",
    edits: [
      { file: "src/graph/together.ts", find: "reduced(reducers, now, update)", put: "combined(reducers, now, update)" },
      { file: "src/graph/together.ts", find: "type Reducers, reduced }", put: "type Reducers, combined }" },
    ],
    killedBy: [{ ...USER_CODE, test: "a reducer that changes its old value in place" }],
  },
  {
    name: "a reducer that changes its old value in place is noticed after branches are recorded",
    breaks: "S8",
    edits: [
      {
        file: "src/graph/run-graph.ts",
        find: "const take = tried ? reduced : combined;",
        put: "const take = tried && !record.gather ? reduced : combined;",
      },
    ],
    killedBy: [{ ...USER_CODE, test: "a reducer that changes its old value in place" }],
  },
  {
    name: "a value that cannot be streamed is dropped without a word",
    breaks: "S9",
    edits: [
      {
        file: "src/graph/node/run-stream.ts",
        find: "if (error instanceof LimitExceeded) return null;\n      throw error;",
        put: "if (error instanceof Error) return null;\n      throw error;",
      },
    ],
    killedBy: [{ ...RUN_STREAM, test: "one that cannot be stored throws at the call" }],
  },
  {
    name: "a value is streamed as it is when it is sent",
    breaks: "S9",
    edits: [
      {
        file: "src/graph/node/run-stream.ts",
        find: "return { value: this.#codecs.decode(payload), size",
        put: "return { value, size",
      },
    ],
    killedBy: [{ ...RUN_STREAM, test: "a value is streamed as it was when it was written" }],
  },
];
