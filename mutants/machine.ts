// Planted bugs in machines: a timer fires twice, never, early or into another state; a step is half written; a state is believed.

import type { Mutant } from "./mutant.js";

const SQL = "src/store/postgres/machine-sql.ts";
const TIMERS = "test/machine/timers.test.ts";
const CONFORMANCE = "test/conformance/postgres.test.ts";

export const machines: readonly Mutant[] = [
  {
    name: "validate, then send: a timer's event without its row",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/timer-loop.ts",
        find: "  const timer = { id, generation };\n",
        put: "  const timer = null;\n",
      },
      {
        file: "src/machine/steps.ts",
        find: 'if (entered[path] !== incoming.generation) return { outcome: "stale" };',
        put: 'if (entered[path] === undefined) return { outcome: "stale" };',
      },
    ],
    killedBy: [{ file: TIMERS, test: "an event between the look and the firing" }],
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
        file: "src/store/memory/timers.ts",
        find: "if (!row || row.generation !== generation) return false;",
        put: "if (!row) return false;",
      },
    ],
    killedBy: [{ file: TIMERS, test: "a timer that was taken before its state was left" }],
  },
  {
    name: "a timer fires in whatever generation, in the database",
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
    name: "an append at whatever sequence",
    breaks: "S8",
    edits: [
      {
        file: SQL,
        find: "where i.key = a.key and i.seq = a.seq and i.status",
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
        find: 'as n(${RUN_COLUMNS}, ord) where ${written("n.ord")}',
        put: "as n(${RUN_COLUMNS}, ord)",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "an append moves the row from the expected sequence" }],
  },
  {
    name: "a remembered state is believed",
    breaks: "S8",
    edits: [
      {
        file: "src/machine/mailbox.ts",
        find: "        if (guess) fresh = true;\n        else return",
        put: "        return",
      },
    ],
    killedBy: [{ file: "test/machine/instances.test.ts", test: "a node that has seen it long ago" }],
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
    name: "taking a timer is not counted",
    breaks: "S17",
    edits: [
      {
        file: "src/store/postgres/timers.ts",
        find: "  set attempts = x.attempts + 1, try_at = (select now from t)",
        put: "  set attempts = x.attempts, try_at = (select now from t)",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a timer that is taken too often without an end is dead" }],
  },
  {
    name: "a failing timer is tried at once",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer-loop.ts",
        find: '      return { ...settlement(timer, "retry"), delayMs, problem };',
        put: '      return { ...settlement(timer, "retry"), delayMs: delayMs * 0, problem };',
      },
    ],
    killedBy: [{ file: TIMERS, test: "one that fails backs off, gives up in the end" }],
  },
  {
    name: "timers are looked for, not slept on",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/timer-loop.ts",
        find: "    if (at >= this.#wakeAt) return;",
        put: "    if (at >= this.#wakeAt || inMs >= 0) return;",
      },
      {
        file: "src/machine/timer-loop.ts",
        find: "        if (nextMs !== null) this.#wakeAt",
        put: "        if (nextMs === -1) this.#wakeAt",
      },
    ],
    killedBy: [{ file: TIMERS, test: "the next deadline is slept on, not polled for" }],
  },
  {
    name: "an unknown timer is dropped",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/timer-loop.ts",
        find: '    return { ...settlement(timer, "keep"), delayMs: KEPT_MS, problem };',
        put: '    return { ...settlement(timer, "drop"), delayMs: KEPT_MS, problem };',
      },
    ],
    killedBy: [{ file: TIMERS, test: "timers whose branch is gone are kept and shown" }],
  },
];
