// Planted bugs in machines: a timer fires twice, never, early or into another state; a step is half written; an old state is used.

import type { Mutant } from "./mutant.js";

const SQL = "src/store/postgres/machine/machine-sql.ts";
const TIMERS = "test/machine/timers.test.ts";
const CONFORMANCE = "test/conformance/postgres.test.ts";

export const machines: readonly Mutant[] = [
  {
    name: "validate, then send: a timer's event without its row",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: "  const timer = { id, generation };\n",
        put: "  const timer = null;\n",
      },
      {
        file: "src/machine/steps.ts",
        find: 'if (entered[path] !== incoming.generation) return { outcome: "stale" };',
        put: 'if (entered[path] === undefined) return { outcome: "stale" };',
      },
    ],
    killedBy: [{ file: TIMERS, test: "after an event between poll and fire" }],
  },
  {
    name: "a node stands by at the deadlines that it has set itself",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: "Math.max(nextAt, this.#own.from(nextAt - NEAR_MS))",
        put: "this.#own.from(Number.POSITIVE_INFINITY)",
      },
    ],
    killedBy: [{ file: "test/machine/overload.test.ts", test: "a node fires the timers it has set in time" }],
  },
  {
    name: "a timer armed in a second transaction",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/mailbox.ts",
        find: "      const [answered] = await store.append([append]);",
        put: `      const [answered] = await store.append([{ ...append, timers: [] }]);
      if (append.timers.length > 0 && answered!.outcome === "accepted") {
        await store.append([{ ...append, token: place.newToken(), expectedSeq: answered!.seq, fired: [], cancelled: [], told: [], effects: [] }]);
      }`,
      },
    ],
    killedBy: [{ file: TIMERS, test: "a process that dies after any call" }],
  },
  {
    name: "a timer's generation is the last sequence",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/steps.ts",
        find: '    if (entered[path] !== incoming.generation) return { outcome: "stale" };',
        put: '    if (this.state.seq !== incoming.generation) return { outcome: "stale" };',
      },
    ],
    killedBy: [{ file: TIMERS, test: "staying in a state neither kills nor restarts its timer" }],
  },
  {
    name: "a timer is completed without its generation",
    breaks: "S11",
    edits: [
      {
        file: "src/store/memory/machine/timers.ts",
        find: "if (!row || row.generation !== generation || row.attempts !== taken) return false;",
        put: "if (!row || row.attempts !== taken) return false;",
      },
    ],
    killedBy: [{ file: "test/conformance/memory.test.ts", test: "in its generation only" }],
  },
  {
    name: "a timer fires in any generation, in the database",
    breaks: "S11",
    edits: [
      {
        file: SQL,
        find: "  where (select x.id from ${s}.timers x where x.id = f.id and x.generation = f.generation limit 1) is null\n  union all",
        put: "  where (select x.id from ${s}.timers x where x.id = f.id limit 1) is null\n  union all",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a fired timer goes with the append that names it" }],
  },
  {
    name: "an append at any sequence",
    breaks: "S8",
    edits: [
      {
        file: SQL,
        find: "where i.key = a.key and i.seq = a.base and i.status",
        put: "where i.key = a.key and i.status",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "an append moves the row from the expected sequence" }],
  },
  {
    name: "effects of a refused append",
    breaks: "S1",
    edits: [
      {
        file: SQL,
        find: '${effects.as("n")} where ${written("n.ord")}',
        put: '${effects.as("n")}',
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "an append moves the row from the expected sequence" }],
  },
  {
    name: "a cached state is used without a check",
    breaks: "S8",
    edits: [
      {
        file: "src/machine/mailbox.ts",
        find: "        if (guess) fresh = true;\n        else return",
        put: "        return",
      },
    ],
    killedBy: [{ file: "test/machine/instances.test.ts", test: "a node with an old cached state" }],
  },
  {
    name: "an effect's answer without a key",
    breaks: "S12",
    edits: [
      {
        file: SQL,
        find: "  where e.key is not null\n    and (select v.seq",
        put: "  where e.key is null\n    and (select v.seq",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a key is accepted once" }],
  },
  {
    name: "timers of an ended instance stay",
    breaks: "S11",
    edits: [{ file: SQL, find: "where ok.ends and x.instance", put: "where not ok.ends and x.instance" }],
    killedBy: [{ file: CONFORMANCE, test: "an ended instance takes nothing" }],
  },
  {
    name: "the claim of a timer is not counted",
    breaks: "S17",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: "  set attempts = x.attempts + 1, claimed_until = (select now from t)",
        put: "  set attempts = x.attempts, claimed_until = (select now from t)",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a timer that is claimed too often without an outcome is dead" }],
  },
  {
    name: "a timer is claimed while another node holds it",
    breaks: "L4",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: "      and (x.claimed_until is null or x.claimed_until <= (select now from t) or x.claimed_by = any($6::uuid[]))\n",
        put: "",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "claimed timers are passed over" }],
  },
  {
    name: "the deadline of a dead node's timers wakes no other node",
    breaks: "L4",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: "         and n.claimed_until > (select now from t)\n",
        put: "         and n.claimed_until < n.due_at\n",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "claimed timers are passed over" }],
  },
  {
    name: "a settled timer stays claimed",
    breaks: "L4",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: '${interval("w.delay_ms")}, claimed_until = null,',
        put: '${interval("w.delay_ms")},',
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "settled, a timer is tried later" }],
  },
  {
    name: "a timer that is set again stays claimed",
    breaks: "L4",
    edits: [{ file: SQL, find: "    claimed_until = null, attempts = 0,", put: "    attempts = 0," }],
    killedBy: [{ file: CONFORMANCE, test: "a claimed timer that is set again is free" }],
  },
  {
    name: "the claim of a timer moves it in its indexes",
    breaks: "L4",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: "  set attempts = x.attempts + 1, claimed_until = (select now from t)",
        put: "  set attempts = x.attempts + 1, try_at = (select now from t), claimed_until = (select now from t)",
      },
    ],
    killedBy: [
      { file: "test/store/planner/hot-timers.test.ts", test: "leaves their entries in every index unchanged" },
    ],
  },
  {
    name: "a failing timer is retried at once",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: '      return { ...settlement(timer, "retry"), delayMs, problem };',
        put: '      return { ...settlement(timer, "retry"), delayMs: delayMs * 0, problem };',
      },
    ],
    killedBy: [{ file: TIMERS, test: "a failing timer backs off, is given up in the end" }],
  },
  {
    name: "timers are polled for, not slept on",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: "      this.#loop.wake(inMs);\n",
        put: "",
      },
      {
        file: "src/machine/timer/timer-loop.ts",
        find: "ms: Math.min(this.#lookAt, this.#nextLookAt(now, nextMs)) - now",
        put: "ms: this.#lookAt - now",
      },
    ],
    killedBy: [{ file: TIMERS, test: "the loop sleeps until the next deadline" }],
  },
  {
    name: "an unknown timer is dropped",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: '    return { ...settlement(timer, "keep"), delayMs: KEPT_MS, problem };',
        put: '    return { ...settlement(timer, "drop"), delayMs: KEPT_MS, problem };',
      },
    ],
    killedBy: [
      { file: "test/machine/edited-definition.test.ts", test: "timers whose branch is gone are kept and shown" },
    ],
  },
  {
    name: "untilIdle ignores timers that the loop has claimed",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: "    await this.#round();\n    await Promise.all",
        put: "    this.#taken = 0;\n    await this.#round();\n    await Promise.all",
      },
    ],
    killedBy: [{ file: "test/machine/overload.test.ts", test: "timers that the node had claimed before the call" }],
  },
  {
    name: "timers are claimed without a bound",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer/timer-pace.ts",
        find: "return this.#underWay >= this.#allowed;",
        put: "return this.#underWay > 1e9;",
      },
      { file: "src/machine/timer/timer-pace.ts", find: "return Math.min(PAGE, this.#allowed);", put: "return PAGE;" },
    ],
    killedBy: [{ file: "test/machine/overload.test.ts", test: "hundreds of overdue timers are each claimed once" }],
  },
  {
    name: "a timer that kills spends its neighbours' attempts",
    breaks: "S17",
    edits: [
      {
        file: "src/machine/timer/suspect-timers.ts",
        find: "return { now: timers.slice(0, few), together, back: timers.slice(few) };",
        put: "return { now: few > 0 ? timers : [], together, back: [] };",
      },
    ],
    killedBy: [{ file: "test/machine/overload.test.ts", test: "none of its neighbours is" }],
  },
  {
    name: "a conflict at the instance counts as a timer's failure",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer/timer-loop.ts",
        find: "if (isPassing(error)) return",
        put: "if (error === null) return",
      },
    ],
    killedBy: [{ file: "test/machine/overload.test.ts", test: "again and again is not given up" }],
  },
  {
    name: "a timer is settled by a node that has lost it",
    breaks: "S11",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: "join ${s}.timers x on x.id = w.id and x.generation = w.generation and x.attempts = w.attempts\n",
        put: "join ${s}.timers x on x.id = w.id and x.generation = w.generation\n",
      },
      {
        file: "src/store/postgres/machine/timers.ts",
        find: "x.generation = w.generation and x.attempts = w.attempts and w.how = 'drop'",
        put: "x.generation = w.generation and w.how = 'drop'",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "in its generation only" }],
  },
  {
    name: "a value that is not an event reaches the mailbox",
    breaks: "S8",
    edits: [
      {
        file: "src/machine/instance.ts",
        find: "    checkEvent(event);\n    if (tx",
        put: "    if (!this.id) checkEvent(event);\n    if (tx",
      },
    ],
    killedBy: [{ file: "test/machine/sending.test.ts", test: "does not affect events sent with it" }],
  },
  {
    name: "an effect's run shows marked fields",
    breaks: "redaction",
    edits: [
      {
        file: "src/cli/command/show.ts",
        find: "withoutMarked(run.group.program, page?.entries ?? [])",
        put: 'withoutMarked("", page?.entries ?? [])',
      },
    ],
    killedBy: [{ file: "test/cli/instances.test.ts", test: "marked fields are not shown" }],
  },
  {
    name: "what a dead node has claimed stays claimed",
    breaks: "L4",
    edits: [
      {
        file: "src/store/postgres/machine/timers.ts",
        find: " or x.claimed_by = any($6::uuid[]))",
        put: " or x.claimed_by = any($6::uuid[]) and false)",
      },
    ],
    killedBy: [{ file: CONFORMANCE }],
  },
  {
    name: "every node looks at every deadline",
    breaks: "L4",
    edits: [
      { file: "src/machine/timer/timer-loop.ts", find: "return this.#isFirst ? 0 : STAND_BY_MS;", put: "return 0;" },
    ],
    killedBy: [{ file: TIMERS }],
  },
  {
    name: "the timers of a dead node wait for the end of its claim",
    breaks: "L4",
    edits: [{ file: "src/machine/timer/timer-loop.ts", find: "    this.#gone = gone;\n", put: "" }],
    killedBy: [{ file: TIMERS }],
  },
];
