// Planted bugs in replay and in steps: what a function receives, and when it is judged.

import type { Mutant } from "./mutant.js";

/** The first that breaks an invariant ends it: a wide range costs only a survivor. */
const SEEDS = { seeds: 150 };
const DELIVERIES = "src/replay/deliveries.ts";
const REPLAY = "src/replay/replay.ts";
const STEP = "src/replay/step-call.ts";
const OWED_TESTS = "test/workflow/owed-entries.test.ts";

export const replay: readonly Mutant[] = [
  {
    name: "results delivered in the order of their callbacks, not of the journal",
    breaks: "S9",
    edits: [
      {
        file: DELIVERIES,
        find: "    const later = [...this.#left].filter(({ entry }) => entry.seq > ending.entry.seq);\n",
        put: "    const later: Ending[] = [];\n",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "in another order" }],
  },
  {
    name: "recorded results delivered all at once",
    breaks: "S9",
    edits: [
      {
        file: REPLAY,
        find: "      if (next) this.#tell(next);\n",
        put: "      if (next) for (let one: typeof next | null = next; one; one = this.#deliverable()) this.#tell(one);\n",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "one turn apart" }],
  },
  {
    name: "mismatch judged at the first new step, not when the function is idle",
    breaks: "S9",
    edits: [
      {
        file: REPLAY,
        find: "      const next = only ?? this.#deliverable();\n",
        put: "      if (this.#asked > before) return this.#judge();\n      const next = only ?? this.#deliverable();\n",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "no mismatch" }],
  },
  {
    name: "a function is judged some microtasks after it was found idle",
    breaks: "S9",
    edits: [
      { file: REPLAY, find: "        return this.#judge();\n", put: "        return null;\n" },
      {
        file: REPLAY,
        find: "      const outcome = await this.#untilIdle();\n",
        put: "      const outcome = (await this.#untilIdle()) ?? this.#judge();\n",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "any microtask after a turn" }],
  },
  {
    name: "a late ending kept for a call that has already ended",
    breaks: "S9",
    edits: [
      {
        file: DELIVERIES,
        find: "      else this.#left.delete(ending);\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "second ending" }],
  },
  {
    name: "a run handed back while a step of it runs",
    breaks: "S7",
    edits: [
      {
        file: REPLAY,
        find: "      if (!writes && !this.#busy()) {\n",
        put: '      if (this.session.stopping) return { kind: "handBack" };\n      if (!writes && !this.#busy()) {\n',
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "a new generation loses signals that were not consumed",
    breaks: "S12",
    edits: [{ file: REPLAY, find: "reopen: this.#undelivered.signals }", put: "reopen: [] }" }],
    killedBy: [SEEDS],
  },
  {
    name: "a retried run does its recorded steps again",
    breaks: "S6",
    edits: [
      {
        file: "src/replay/recorded.ts",
        find: "  endings.push(...kept);\n",
        put: "  endings.length = 0;\n",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "a node in doubt of its lease starts steps",
    breaks: "L5",
    edits: [
      { file: STEP, find: "    if (!replay.session.isConfirmed) await replay.session.untilConfirmed();\n", put: "" },
    ],
    killedBy: [{ file: "test/workflow/step-call.test.ts" }],
  },
  {
    name: "a function is judged before it has made its recorded calls",
    breaks: "S9",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: "      if (!only) await this.session.world.turn();\n",
        put: "      if (!only && this.#open.size !== 1) await this.session.world.turn();\n",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "some microtasks after another" }],
  },
  {
    name: "an idempotency key that changes with the claim",
    breaks: "S7",
    edits: [
      {
        file: "src/replay/attempt.ts",
        find: "`${runId}:${baseSeq}:${call.kind}",
        put: "`${runId}:${baseSeq + epoch}:${call.kind}",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "an idempotency key that changes with the attempt",
    breaks: "S7",
    edits: [
      {
        file: "src/replay/attempt.ts",
        find: ":${call.key}`;",
        put: ":${call.key}.${this.attempt}`;",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "the idempotency key is left out of a copy of what a step gets",
    breaks: "S7",
    edits: [
      {
        file: "src/replay/attempt.ts",
        find: "this.idempotencyKey = `${runId}:${baseSeq}:${call.kind}:${escaped(call.name)}:${call.key}`;",
        put: "Object.defineProperty(this, 'idempotencyKey', { value: `${runId}:${baseSeq}:${call.kind}:${escaped(call.name)}:${call.key}` });",
      },
      {
        file: "src/replay/attempt.ts",
        find: "readonly idempotencyKey: string;",
        put: "declare readonly idempotencyKey: string;",
      },
    ],
    killedBy: [{ file: "test/workflow/step-call.test.ts", test: "passes its idempotency key" }],
  },
  {
    name: "a run parks without comparing the inbox number it has seen",
    breaks: "S12",
    edits: [
      {
        file: "src/replay/settlement.ts",
        find: "seenInboxSeq: session.inboxSeq }",
        put: "seenInboxSeq: Number.MAX_SAFE_INTEGER }",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "a wake during a read of the inbox is forgotten",
    breaks: "S12",
    edits: [
      {
        file: "src/replay/take-messages.ts",
        find: "    await takeAll(this.#replay, messages, this.#onTaking(messages));\n",
        put: "    await takeAll(this.#replay, messages, this.#onTaking(messages));\n    this.#mailUpTo = session.inboxSeq;\n    this.#ownUpTo = session.newsCount;\n",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "a function that awaits something else is parked",
    breaks: "L3",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: "if (!this.#awaitsOutside() && !this.open",
        put: "if (!this.open",
      },
    ],
    killedBy: [{ file: "test/workflow/careless-functions.test.ts", test: "not the context's" }],
  },
  {
    name: "results are delivered while a patch is being recorded",
    breaks: "S9",
    edits: [
      {
        file: REPLAY,
        find: "    if (this.#heldBack()) return null;\n    return this.#undelivered",
        put: "    return this.#undelivered",
      },
    ],
    killedBy: [{ file: "test/replay/replay.test.ts", test: "while a patch" }],
  },
  {
    name: "a step that waited for its lease is started after its run has ended",
    breaks: "L5",
    edits: [
      {
        file: STEP,
        find: "    if (!replay.session.isConfirmed) await replay.session.untilConfirmed();\n    replay.throwIfOver();\n",
        put: "    if (!replay.session.isConfirmed) await replay.session.untilConfirmed();\n",
      },
    ],
    killedBy: [{ file: "test/workflow/step-call.test.ts" }],
  },
  {
    name: "the last entry of a cancelled child is read as an error",
    breaks: "L3",
    edits: [
      {
        file: "src/replay/child-call.ts",
        find: 'decodeError(state === "failed" && value !== undefined ? value : endedAs(state, value))',
        put: "decodeError(value === undefined ? endedAs(state, value) : value)",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "the end of a sleep is delivered before it is written while another call is open",
    breaks: "S9",
    edits: [{ file: REPLAY, find: "    if (this.open.size !== 1 || !this.open.has(call) || ", put: "    if (" }],
    killedBy: [{ file: OWED_TESTS, test: "with another call open" }],
  },
  {
    name: "a step begins before the end of the sleep before it is written",
    breaks: "S9",
    edits: [{ file: REPLAY, find: "if (this.session.owes && !this.open.onlyWaits) {", put: "if (Number.isNaN(0)) {" }],
    killedBy: [{ file: OWED_TESTS, test: "begins only when" }],
  },
  {
    name: "an end that was delivered is not written while the function awaits something outside",
    breaks: "S1",
    edits: [
      {
        file: REPLAY,
        find: "      if (this.session.owes) await this.session.pay();\n      else if (writes)",
        put: "      if (writes)",
      },
    ],
    killedBy: [{ file: OWED_TESTS, test: "awaits outside" }],
  },
  {
    name: "a wait counts from when it was made, not from when it was written",
    breaks: "S11",
    edits: [
      {
        file: "src/replay/wait-call.ts",
        find: "      this.owedMs = timeoutMs;\n",
        put: "      this.owedMs = timeoutMs;\n      const madeAt = replay.session.databaseNow();\n",
      },
      {
        file: "src/replay/wait-call.ts",
        find: "        this.#begun(replay.session.databaseNow());\n",
        put: "        this.#begun(madeAt);\n",
      },
    ],
    killedBy: [{ file: OWED_TESTS, test: "counts from when it was written" }],
  },
  {
    name: "a run is not woken for the wait that began with its park",
    breaks: "L4",
    edits: [
      {
        file: "src/replay/open-calls.ts",
        find: "    for (const { owedMs } of this.#open) shortest = Math.min(shortest, owedMs ?? shortest);\n",
        put: "",
      },
    ],
    killedBy: [{ file: OWED_TESTS, test: "writes two commits" }],
  },
  {
    name: "a commit that is repeated leaves out the end of the sleep",
    breaks: "S1",
    edits: [
      {
        file: "src/engine/session.ts",
        find: 'this.again("commit", error, () => this.#writer.commit(effects))',
        put: 'this.again("commit", error, () => this.#writer.commit(wanted))',
      },
    ],
    killedBy: [{ file: OWED_TESTS, test: "that is not sent" }],
  },
  {
    name: "a run parks while its graph writes the first entry of a subgraph",
    breaks: "L4",
    edits: [{ file: REPLAY, find: "this.session.isWriting && !this.#busy()", put: "false" }],
    killedBy: [{ file: "test/graph/subgraphs.test.ts", test: "begins while a node next to it waits" }],
  },
];
