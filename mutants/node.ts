// Planted bugs in how a node works and stops.

import type { Killer, Mutant } from "./mutant.js";

const SLOTS = "src/engine/claiming/slots.ts";
const SEAT = "src/engine/claiming/slot-seat.ts";
const DOZE = "test/engine/doze.test.ts";
const AHEAD = "src/engine/claiming/claim-ahead.ts";
const SHUTDOWN: readonly Killer[] = [{ file: "test/engine/shutdown.test.ts" }];
const KEEPER: readonly Killer[] = [{ file: "test/engine/lease-keeper.test.ts" }];

export const node: readonly Mutant[] = [
  {
    name: "a run is handed back while its step ignores the abort",
    breaks: "effects of two owners never overlap",
    edits: [
      {
        file: "src/engine/engine.ts",
        find: "for (const session of this.#left) session.lose();",
        put: 'for (const session of this.#left) await session.commit([{ kind: "handBack" }]);',
      },
    ],
    killedBy: SHUTDOWN,
  },
  {
    name: "the abort of a stopping node counts as a failure of the step",
    breaks: "handing back costs a run nothing",
    edits: [
      {
        file: "src/replay/step-call.ts",
        find: "if (!atMostOnce) over.throwIfAborted();",
        put: "",
      },
    ],
    killedBy: SHUTDOWN,
  },
  {
    name: "runs claimed ahead begin at once",
    breaks: "no more runs are worked on than there are slots",
    edits: [{ file: SLOTS, find: "if (this.#free === 0) return null;", put: "if (this.#free < -1000) return null;" }],
    killedBy: SHUTDOWN,
  },
  {
    name: "a session that leaves the line keeps the slot it was given",
    breaks: "all slots are used",
    edits: [{ file: SLOTS, find: "      if (place.granted) this.give();\n", put: "" }],
    killedBy: [{ file: "test/engine/slots.test.ts", test: "passes it on" }],
  },
  {
    name: "a run leaves its slot with every write",
    breaks: "no more runs are worked on than there are slots",
    edits: [
      {
        file: "src/engine/session.ts",
        find: "if (last && settles(last)) this.seat?.leave();",
        put: "this.seat?.leave();",
      },
    ],
    killedBy: [{ file: "test/engine/leave-slot.test.ts", test: "keeps its slot" }],
  },
  {
    name: "a run keeps its slot until its outcome is written",
    breaks: "node and database work at the same time",
    edits: [
      {
        file: "src/engine/session.ts",
        find: "    if (last && settles(last)) this.seat?.leave();\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/engine/leave-slot.test.ts", test: "the next run begins" }],
  },
  {
    name: "a run that has slept works without a slot",
    breaks: "no more runs are worked on than there are slots",
    edits: [
      {
        file: SLOTS,
        find: 'return (this.takeNow(session) ?? (await this.take(session, LONGEST_LINE_MS))) === "slot";',
        put: "return true;",
      },
    ],
    killedBy: [{ file: DOZE, test: "works with no more others at once" }],
  },
  {
    name: "a slot that is lent is not claimed for",
    breaks: "all slots are used",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: "this.#options.size + this.#options.lent() - this.#active",
        put: "this.#options.size - this.#active",
      },
    ],
    killedBy: [{ file: DOZE, test: "others begin meanwhile" }],
  },
  {
    name: "a run that has slept waits in line for as long as it takes",
    breaks: "a run does not wait while another node has a slot for it",
    edits: [{ file: SLOTS, find: "this.take(session, LONGEST_LINE_MS)", put: "this.take(session)" }],
    killedBy: [{ file: DOZE, test: "continues on another node" }],
  },
  {
    name: "a run that has slept continues without a slot",
    breaks: "no more runs are worked on than there are slots",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: 'else if (!(await this.session.seat!.doze(this.#untilChange()))) return { kind: "handBack" };',
        put: "else await this.session.seat!.doze(this.#untilChange());",
      },
    ],
    killedBy: [{ file: DOZE, test: "cleans up with no more others" }],
  },
  {
    name: "a run of a program that this node no longer takes keeps its claim while it sleeps",
    breaks: "a node claims only what it can serve",
    edits: [
      {
        file: "src/engine/engine.ts",
        find: " && !this.#isUnwanted(session);\n    session.seat",
        put: ";\n    session.seat",
      },
    ],
    killedBy: [{ file: DOZE, test: "leaves a node that takes no more work" }],
  },
  {
    name: "any number of runs keep their claims while they sleep",
    breaks: "sleeping runs take a bounded part of the memory",
    edits: [{ file: SLOTS, find: " && this.#lent < MOST_LENT * this.#count", put: "" }],
    killedBy: [{ file: "test/engine/slots.test.ts", test: "up to ten lent for each" }],
  },
  {
    name: "a run that a message may end keeps its claim while it sleeps",
    breaks: "a message wakes a run that waits for it",
    edits: [{ file: "src/replay/replay.ts", find: "dozes = this.open.onlySleeps && ", put: "dozes = " }],
    killedBy: [{ file: DOZE, test: "when a message could end its wait" }],
  },
  {
    name: "a run under a limit keeps its claim while it sleeps",
    breaks: "a parked run is not counted under its limits",
    edits: [{ file: SEAT, find: " || limited || suspect", put: " || suspect" }],
    killedBy: [{ file: DOZE, test: "is parked under a limit" }],
  },
  {
    name: "a run that its holder's death would fail keeps its claim while it sleeps",
    breaks: "a node that dies fails only what was at work",
    edits: [{ file: "src/engine/claiming/assignments.ts", find: " && !this.failsWhatDied;", put: ";" }],
    killedBy: [{ file: DOZE, test: "where its recovery fails what died" }],
  },
  {
    name: "runs that end slowly are claimed ahead",
    breaks: "a run does not wait while another node has a slot for it",
    edits: [{ file: AHEAD, find: "this.#isFast = this.#sinceMs < BEGINS_WITHIN_MS;", put: "this.#isFast = true;" }],
    killedBy: [{ file: "test/engine/claim-ahead.test.ts", test: "slow runs" }],
  },
  {
    name: "a node claims ahead what fails when its process dies",
    breaks: "a run that has not begun does not fail",
    edits: [{ file: AHEAD, find: " && mayWait()", put: "" }],
    killedBy: [{ file: "test/engine/claim-ahead.test.ts", test: "may not let claimed runs wait" }],
  },
  {
    name: "a session in doubt begins new steps",
    breaks: "in doubt starts nothing new",
    edits: [
      {
        file: "src/engine/session.ts",
        find: "while (!this.over.aborted && this.inDoubt)",
        put: "while (!this.over.aborted && !this.inDoubt && this.inDoubt)",
      },
    ],
    killedBy: KEEPER,
  },
  {
    name: "a lease keeper that broke stays dead",
    breaks: "claims are renewed whatever error the keeper meets",
    edits: [
      {
        file: "src/engine/claiming/lease-keeper.ts",
        find: 'bus.emit("lease.keeper_restarted", { error }),\n      pauseMs: () => settings.renewEveryMs,',
        put: 'bus.emit("lease.keeper_restarted", { error }),\n      pauseMs: () => Number.POSITIVE_INFINITY,',
      },
    ],
    killedBy: KEEPER,
  },
  {
    name: "every node reclaims although only one should",
    breaks: "one active reclaimer",
    edits: [
      {
        file: "src/engine/upkeep/housekeeping.ts",
        find: "if (reclaimer && !(await reclaimer.hold())) return;",
        put: "if (reclaimer) await reclaimer.hold();",
      },
    ],
    killedBy: [{ file: "test/engine/reclaimer.test.ts" }],
  },
  {
    name: "a node counts as capable whatever version a run is pinned to",
    breaks: "a run that no node can take is listed as such",
    edits: [{ file: "src/client/capable-node.ts", find: "a.version === b.version", put: "true" }],
    killedBy: [{ file: "test/client/capable-node.test.ts" }],
  },
  {
    name: "calls of machines are not reported",
    breaks: "every call of the store is reported",
    edits: [
      {
        file: "src/telemetry/store-calls.ts",
        find: "if (!listens()) return call(...args);",
        put: 'if (!listens() || operation.startsWith("machines.")) return call(...args);',
      },
    ],
    killedBy: [{ file: "test/store/operations.test.ts" }],
  },
  {
    name: "calls of the store that fail are not reported",
    breaks: "every call of the store is reported",
    edits: [{ file: "src/telemetry/store-calls.ts", find: '(error) => report("failed", error),', put: "() => {}," }],
    killedBy: [{ file: "test/store/operations.test.ts" }],
  },
  {
    name: "the simulator trusts operations that it does not know",
    breaks: "S8",
    edits: [
      {
        file: "src/simulator/check/applied.ts",
        find: "  for (const run of history.runs.values()) {\n    const seq",
        put: "  for (const run of [...history.runs.values()].slice(0, 0)) {\n    const seq",
      },
    ],
    killedBy: [{ file: "test/simulator/checkers.test.ts" }],
  },
  {
    name: "a caller that waits for the end of a run polls after each of its steps",
    breaks: "a wait costs no statement per step",
    edits: [
      {
        file: "src/node/create-node.ts",
        find: "(isReleased ? watcher.wake(runId) : watcher.moved(runId))",
        put: "watcher.wake(runId)",
      },
    ],
    killedBy: [{ file: "test/engine/watcher.test.ts", test: "does not poll for each step" }],
  },
];
