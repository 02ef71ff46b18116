// Planted bugs in the test kit: time that is skipped too far, crashes that keep memory, faults and findings that are left out.

import type { Mutant } from "./mutant.js";

const LIFE = "src/testing/node/life.ts";
const DRIVER = "src/testing/node/driver.ts";
const DUE = "src/testing/node/next-due.ts";
const SCENARIO = "src/testing/simulate/scenario.ts";
const VIOLATION = "src/testing/simulate/violation.ts";
const REPLAY = "src/testing/replay/replay.ts";
const NODE_TESTS = "test/testing/test-node.test.ts";
const STUB_TESTS = "test/testing/stubs.test.ts";
const SIMULATE_TESTS = "test/testing/simulate.test.ts";
const REPLAY_TESTS = "test/testing/replay.test.ts";

export const testing: readonly Mutant[] = [
  {
    name: "a killed process gets its answers and timers",
    breaks: "a crash loses what was not committed",
    edits: [
      { file: LIFE, find: "    if (!this.alive) return new Promise(() => {});\n", put: "" },
      { file: LIFE, find: "      if (!this.alive) return;\n      const frozenMs", put: "      const frozenMs" },
      { file: LIFE, find: "      if (this.alive) callback();", put: "      callback();" },
    ],
    killedBy: [{ file: NODE_TESTS, test: "a crash loses the step" }, { file: SIMULATE_TESTS }],
  },
  {
    name: "the presence of a killed process stays",
    breaks: "a crash ends the connections of the process",
    edits: [{ file: LIFE, find: "    for (const end of this.#onKilled) end();\n", put: "" }],
    killedBy: [{ file: STUB_TESTS, test: "ends with its process" }],
  },
  {
    name: "a jump passes over parked runs",
    breaks: "what becomes due happens at its moment",
    edits: [
      {
        file: DUE,
        find: 'if (field.endsWith("Us")) return [value];',
        put: 'if (field.endsWith("Us") && field !== "wakeAtUs") return [value];',
      },
    ],
    killedBy: [{ file: NODE_TESTS, test: "30 days of sleep" }],
  },
  {
    name: "advance jumps beyond its end",
    breaks: "advance stops in the middle of a wait",
    edits: [
      {
        file: DRIVER,
        find: "const until = Math.min(due, leap, limit);",
        put: "const until = Number.isFinite(due) ? due : limit;",
      },
    ],
    killedBy: [{ file: NODE_TESTS, test: "advance stops" }],
  },
  {
    name: "an advance ends before what is due at its last moment",
    breaks: "what becomes due happens at its moment",
    edits: [{ file: DRIVER, find: "return isEnd && this.#spentMs", put: "return isEnd && now < 0 && this.#spentMs" }],
    killedBy: [{ file: NODE_TESTS, test: "at the last moment" }],
  },
  {
    name: "time moves while a step works on something real",
    breaks: "real work is waited for, and time stays",
    edits: [{ file: DRIVER, find: "frozenUntil > realNow)) {", put: "frozenUntil > realNow + 1e9)) {" }],
    killedBy: [{ file: NODE_TESTS, test: "real work in a step" }],
  },
  {
    name: "a test that is stuck waits for ever",
    breaks: "no call hangs",
    edits: [
      {
        file: DRIVER,
        find: "if (Math.min(due, leap, limit) === Number.POSITIVE_INFINITY) {",
        put: "if (Math.min(due, leap, limit) === Number.POSITIVE_INFINITY && now < 0) {",
      },
      { file: DRIVER, find: "    clock.block(until - now);", put: "    clock.block(Math.min(until - now, 1_000));" },
    ],
    killedBy: [{ file: NODE_TESTS, test: "waits for a signal for ever" }],
  },
  {
    name: "a transaction is committed although its step was not recorded",
    breaks: "SQL and step together",
    edits: [
      {
        file: "src/testing/node/test-database.ts",
        find: 'if (isOpen) await send("rollback")',
        put: 'if (isOpen) await send("commit")',
      },
    ],
    killedBy: [{ file: STUB_TESTS, test: "rolls back what its step did not record" }],
  },
  {
    name: "a simulated process keeps its memory over a crash",
    breaks: "what a program keeps in memory ends with its process",
    edits: [
      {
        file: SCENARIO,
        find: "make(this.#effects(life)), ...programs",
        put: "(this.#kept ??= make(this.#effects(life))), ...programs",
      },
      {
        file: SCENARIO,
        find: "  readonly #ledger = new Ledger();",
        put: "  readonly #ledger = new Ledger();\n  #kept: AnyDefinition | undefined;",
      },
    ],
    killedBy: [{ file: SIMULATE_TESTS, test: "code that does not replay" }, { file: SIMULATE_TESTS }],
  },
  {
    name: "a simulated pause is shorter than the lease",
    breaks: "pauses longer than the lease",
    edits: [{ file: SCENARIO, find: "const PAUSE_MS = 3 * LEASE_MS;", put: "const PAUSE_MS = LEASE_MS / 4;" }],
    killedBy: [{ file: SIMULATE_TESTS, test: "two processes at once" }],
  },
  {
    name: "a lost reply is delivered",
    breaks: "lost replies",
    edits: [
      {
        file: SCENARIO,
        find: '        return true;\n      case "pause"',
        put: '        return false;\n      case "pause"',
      },
    ],
    killedBy: [{ file: SIMULATE_TESTS, test: "a lost reply" }],
  },
  {
    name: "a doubled effect counts only when it happened three times",
    breaks: "an effect twice without an idempotency key is found",
    edits: [{ file: VIOLATION, find: "if (is > should) return", put: "if (is > should + 1) return" }],
    killedBy: [{ file: SIMULATE_TESTS, test: "charges without a key" }],
  },
  {
    name: "the simulation does not look at the result",
    breaks: "different results are found",
    edits: [{ file: VIOLATION, find: "history.outcome !== calm.outcome &&", put: "calm.outcome === null &&" }],
    killedBy: [{ file: SIMULATE_TESTS, test: "another result" }],
  },
  {
    name: "a replay executes the steps that are not recorded",
    breaks: "a replay executes nothing",
    edits: [{ file: REPLAY, find: "{ perform: <T>() => reach(FITS) as T },", put: "{}," }],
    killedBy: [{ file: REPLAY_TESTS }],
  },
  {
    name: "a replay takes a misfit for a fit",
    breaks: "code that cannot continue a run is found",
    edits: [
      {
        file: REPLAY,
        find: 'if (last.kind === "misfit") return',
        put: 'if (last.kind === "misfit" && history.state === "dead") return',
      },
    ],
    killedBy: [{ file: REPLAY_TESTS, test: "with another step" }],
  },
];
