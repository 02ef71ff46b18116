// Planted bugs in triggers that the simulator must notice: in what every store shares, and in the store it runs on.

import type { Mutant } from "./mutant.js";

const SIMULATED = [{ file: "test/simulator/events.test.ts" }];
const EMITTER = "src/trigger/emitter.ts";
const GATHER = "src/store/memory/event/debounce-events.ts";

export const triggersSimulated: readonly Mutant[] = [
  {
    name: "simulated: an event's key names the stack",
    breaks: "S10",
    edits: [
      {
        file: "src/trigger/subscription.ts",
        find: 'scope: per === "stack" ? id : idOf(name, [name, event, where]),',
        put: "scope: per ? id : id,",
      },
    ],
    killedBy: SIMULATED,
  },
  {
    name: "simulated: each stack has a schedule of its own",
    breaks: "S10",
    edits: [
      {
        file: "src/trigger/scheduler.ts",
        find: 'stack: spec.per === "env" ? null : stack,',
        put: "stack,",
      },
    ],
    killedBy: SIMULATED,
  },
  {
    name: "simulated: a random id in the hash of an event",
    breaks: "S10",
    edits: [
      {
        file: "src/trigger/occurrence.ts",
        find: 'const hash = payloadHash(payload, "payload");',
        put: 'const hash = payloadHash({ payload, id: place.id }, "payload");',
      },
    ],
    killedBy: SIMULATED,
  },
  {
    name: "simulated: the runs of an event are inserted outside the transaction of the step that emits it",
    breaks: "S10",
    edits: [
      {
        file: EMITTER,
        find: "await this.#insert(accepted.planned, inTransaction)",
        put: "await this.#insert(accepted.planned, {})",
      },
    ],
    killedBy: SIMULATED,
  },
  {
    name: "simulated: a subject is not forgotten when its run begins",
    breaks: "no event is lost",
    edits: [{ file: GATHER, find: "  tables.debounces.delete(key);\n", put: "" }],
    killedBy: SIMULATED,
  },
  {
    name: "simulated: a subject keeps its first event",
    breaks: "the last event counts",
    edits: [
      {
        file: GATHER,
        find: "lastAtUs: nowUs, payload: copyPayload(run.input) }",
        put: "lastAtUs: nowUs, payload: known?.payload ?? copyPayload(run.input) }",
      },
    ],
    killedBy: SIMULATED,
  },
  {
    name: "simulated: two runs probe at once",
    breaks: "the circuit breaker",
    edits: [
      {
        file: "src/store/memory/limit/breakers.ts",
        find: "return over ? last.n + 1 : null;",
        put: "return last.n + 1;",
      },
    ],
    killedBy: SIMULATED,
  },
];
