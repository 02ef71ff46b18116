// Planted bugs in how work is stopped: late results, work that begins after a request, signals; and in hostile values.

import type { Mutant } from "./mutant.js";

const STEP = "src/replay/step-call.ts";
const REPLAY = "src/replay/replay.ts";
const SIGNALS = "src/node/process-signals.ts";
const REQUESTS = "test/engine/stop-requests.test.ts";
const LATE = "test/engine/late-results.test.ts";
const VALUES = "test/workflow/hostile-values.test.ts";
const CODEC = "test/kernel/json-codec.test.ts";

export const stopping: readonly Mutant[] = [
  {
    name: "the result of a step counts after its abort",
    breaks: "a partial result is never recorded as the result",
    edits: [{ file: STEP, find: "      if (!finishOnAbort) this.#expectWanted();\n", put: "" }],
    killedBy: [{ file: LATE, test: "done again elsewhere" }, { seeds: 20 }],
  },
  {
    name: "the result of a task counts after its abort",
    breaks: "a partial result is never recorded as the result",
    edits: [
      {
        file: "src/dag/run-task.ts",
        find: '(outcome.kind === "returned" && !task.finishOnAbort)',
        put: "false",
      },
    ],
    killedBy: [{ file: LATE, test: "a task that returns after the abort" }],
  },
  {
    name: "finishOnAbort is ignored",
    breaks: "work that finishes whatever happens is not done twice",
    edits: [{ file: STEP, find: "if (!finishOnAbort) this", put: "this" }],
    killedBy: [{ file: LATE, test: "has its result when it finishes on abort" }],
  },
  {
    name: "a result that waits to be written is dropped with the abort",
    breaks: "a result that came in time counts",
    edits: [
      {
        file: "src/engine/session.ts",
        find: "() => this.#writer.commit(effects));",
        put: "async () => {\n        this.over.throwIfAborted();\n        return this.#writer.commit(effects);\n      });",
      },
    ],
    killedBy: [{ file: LATE, test: "came before the abort counts" }],
  },
  {
    name: "a cancel or a pause returns before its holder has acknowledged it",
    breaks: "S23: nothing begins after the answer",
    edits: [
      {
        file: "src/client/ask-to-stop.ts",
        find: "if (progress.unanswered === 0) return",
        put: "if (progress.unanswered >= 0) return",
      },
    ],
    killedBy: [{ file: REQUESTS, test: "begins nothing after" }, { seeds: 40 }],
  },
  {
    name: "the gate is open while a request is being acknowledged",
    breaks: "S23: nothing begins after the answer",
    edits: [
      {
        file: "src/replay/take-messages.ts",
        find: "    if (messages.some(isStopRequest)) this.#replay.closeGate(messages);\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/replay/stop-gate.test.ts" }],
  },
  {
    name: "the holder is not woken by a request",
    breaks: "a run whose step takes long is stopped at once",
    edits: [
      {
        file: "src/engine/engine.ts",
        find: "      onCalled: (runIds) => this.#keeper.call(new Set(runIds)),\n",
        put: "",
      },
    ],
    killedBy: [{ file: REQUESTS, test: "is asked to stop at once" }],
  },
  {
    name: "a run that waits for a slot does not notice a cancel",
    breaks: "S23: a request is acknowledged whatever the run waits for",
    edits: [
      {
        file: "src/engine/claiming/slots.ts",
        find: '      if (await session.isAskedToStop()) return "stop";\n',
        put: "",
      },
    ],
    killedBy: [{ file: REQUESTS, test: "claimed ahead" }],
  },
  {
    name: "a run that returns while it is being paused completes",
    breaks: "a pause that was acknowledged takes effect",
    edits: [
      {
        file: REPLAY,
        find: '    if (this.#paused && this.#settled && !this.#limits.retried) return this.#busy() ? null : { kind: "handBack" };\n',
        put: "",
      },
    ],
    killedBy: [{ file: REQUESTS, test: "acknowledged takes effect" }],
  },
  {
    name: "a cancel counts as acknowledged when its run was released",
    breaks: "S23: no task begins after its run was released with a request",
    edits: [
      {
        file: "src/store/memory/run/stop-requests.ts",
        find: "    if (isEnded(state)) return false;\n",
        put: '    if (isEnded(state) || state !== "running") return false;\n',
      },
    ],
    killedBy: [{ file: "test/conformance/memory.test.ts", test: "one of them has not taken it in" }],
  },
  {
    name: "a node listens to signals only when it has started",
    breaks: "a SIGTERM in the first moments of a process stops it in order",
    edits: [
      {
        file: "src/node/create-node.ts",
        find: "  const listening = stopOnSignals(signalsOf(options.signals), stop, world);\n",
        put: "  await sleep(world, 300);\n  const listening = stopOnSignals(signalsOf(options.signals), stop, world);\n",
      },
    ],
    killedBy: [{ file: "test/client/signals.test.ts", test: "at whatever moment" }],
  },
  {
    name: "a node does not listen to signals by default",
    breaks: "a deployment orphans nothing",
    edits: [
      {
        file: SIGNALS,
        find: "return { signals: DEFAULT_SIGNALS, yields: true };",
        put: "return { signals: [], yields: true };",
      },
    ],
    killedBy: [{ file: "test/client/signals.test.ts", test: "says goodbye" }],
  },
  {
    name: "a node takes the application's signal",
    breaks: "an application with its own listener decides",
    edits: [{ file: SIGNALS, find: "    if (yields && applicationListens(signal)) return;\n", put: "" }],
    killedBy: [{ file: "test/client/signals.test.ts", test: "leaves the signal to an application" }],
  },
  {
    name: "our listener runs after the application's one-time listeners",
    breaks: "an application with its own listener decides",
    edits: [{ file: SIGNALS, find: "process.prependListener(signal, dispatch)", put: "process.on(signal, dispatch)" }],
    killedBy: [{ file: "test/client/signals.test.ts", test: "listens itself" }],
  },
  {
    name: "a thrown value is inspected without protection",
    breaks: "a thrown Proxy is a failure like any other",
    edits: [{ file: STEP, find: "return { error: tamed(error), unstorable };", put: "return { error, unstorable };" }],
    killedBy: [{ file: VALUES, test: "thrown in a step" }],
  },
  {
    name: "a Promise as input is awaited",
    breaks: "the value that is passed is the value that is stored",
    edits: [
      {
        file: "src/program/parse-input.ts",
        find: '  if (isThenable(input)) throw new InvalidInput("input", UNAWAITED);\n',
        put: "",
      },
    ],
    killedBy: [{ file: VALUES, test: "a Promise as input" }],
  },
  {
    name: "an invalid Date is stored",
    breaks: "a stored value is read back unchanged",
    edits: [
      {
        file: "src/kernel/codec/json-prepare.ts",
        find: "        if (Number.isNaN((value as Date).getTime())) this.#refuse(depth, INVALID_DATE);\n",
        put: "        if (Number.isNaN((value as Date).getTime())) return null;\n",
      },
    ],
    killedBy: [{ file: CODEC, test: "an invalid Date" }],
  },
  {
    name: "an object without prototype comes back with one",
    breaks: "a stored value is read back unchanged",
    edits: [{ file: "src/kernel/codec/value-kind.ts", find: 'return "bare";', put: 'return "object";' }],
    killedBy: [{ file: CODEC, test: "without prototype" }],
  },
  {
    name: "a paused run whose function has returned does not wait for its last step",
    breaks: "S7: a released run has no step that still runs",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: 'return this.#busy() ? null : { kind: "handBack" };',
        put: 'return { kind: "handBack" };',
      },
    ],
    killedBy: [{ file: "test/engine/stop-requests.test.ts", test: "last step has ended" }],
  },
];
