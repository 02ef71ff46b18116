// Planted bugs in the cancellation of workflows and in races.

import type { Mutant } from "./mutant.js";

const CANCEL = "test/workflow/cancel.test.ts";
const RACE = "test/workflow/race.test.ts";
const CANCELLATION = "src/replay/cancellation.ts";

export const cancelling: readonly Mutant[] = [
  {
    name: "the context of audited changes stays on for good",
    breaks: "a clean-up that has ended costs other runs nothing",
    edits: [{ file: "src/store/audited-call.ts", find: "if (--underWay === 0) calls.disable();", put: "underWay--;" }],
    killedBy: [{ file: "test/store/audited-call.test.ts", test: "switched off when the last change has ended" }],
  },
  {
    name: "the context of clean-ups stays on for good",
    breaks: "a clean-up that has ended costs other runs nothing",
    edits: [{ file: "src/workflow/cleaning-up.ts", find: "if (open.size === 0) context.disable();", put: "" }],
    killedBy: [{ file: "test/workflow/cleaning-up.test.ts", test: "switched off when the last clean-up has ended" }],
  },
  {
    name: "what a clean-up left behind counts as clean-up",
    breaks: "S23",
    edits: [
      {
        file: "src/workflow/cleaning-up.ts",
        find: "return cleanup?.replay === replay && open.has(cleanup);",
        put: "return cleanup?.replay === replay;",
      },
    ],
    killedBy: [{ file: "test/workflow/cleaning-up.test.ts", test: "only what is called inside a clean-up" }],
  },
  {
    name: "an ordinary step begins after the cancel was raised",
    breaks: "S23: only clean-up begins after the request",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: "const cancelled = call.isCleanup ? null : this.cancellation?.raised;",
        put: "const cancelled = null as Error | null;",
      },
    ],
    killedBy: [{ file: CANCEL, test: "catch, finally and clean-up" }],
  },
  {
    name: "compensations run in the order of their registration",
    breaks: "the last is undone first",
    edits: [{ file: CANCELLATION, find: "[...this.#compensations].at(-1)", put: "[...this.#compensations].at(0)" }],
    killedBy: [{ file: CANCEL, test: "in reverse" }],
  },
  {
    name: "a compensation is started before its ending is looked for",
    breaks: "S6: a recorded step is not done again",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: "      if (this.#change.isNew) continue;\n      // First,",
        put: "      // First,",
      },
    ],
    killedBy: [{ file: CANCEL, test: "in reverse" }],
  },
  {
    name: "clean-up has no end",
    breaks: "the clean-up deadline ends the run",
    edits: [
      {
        file: CANCELLATION,
        find: "    if (this.#replay.session.databaseNow() >= this.deadline!) return end;\n",
        put: "",
      },
    ],
    killedBy: [{ file: CANCEL, test: "hangs" }],
  },
  {
    name: "the result of a cancelled step is recorded",
    breaks: "S24",
    edits: [
      {
        file: "src/replay/step-call.ts",
        find: "    replay.throwIfOver();\n    this.#expectAwaited();\n    const { over",
        put: "    replay.throwIfOver();\n    const { over",
      },
    ],
    killedBy: [{ file: CANCEL, test: "aborted and waited for" }],
  },
  {
    name: "a run that has begun is cancelled without its code",
    breaks: "cancellation runs the user's code",
    edits: [
      {
        file: "src/store/memory/run/cancel-run.ts",
        find: "waits || cleansUp(tables, row)) {",
        put: "waits) {",
      },
    ],
    killedBy: [{ file: CANCEL, test: "catch, finally and clean-up" }],
  },
  {
    name: "a lost branch stays open",
    breaks: "a lost wait takes no message",
    edits: [
      {
        file: "src/replay/race.ts",
        find: "for (const call of loser.calls) replay.withdraw(call, new RaceLost(loser.name, name));",
        put: "void loser;",
      },
    ],
    killedBy: [{ file: RACE, test: "takes no message" }],
  },
  {
    name: "a child is matched to the wrong call",
    breaks: "S6: a child is started once",
    edits: [{ file: "src/replay/child-call.ts", find: "...(isShifted && { call: key })", put: "" }],
    killedBy: [{ file: RACE, test: "after a crash" }],
  },
  {
    name: "a failed child is not looked at again",
    breaks: "a retried parent takes its child's new result",
    edits: [
      {
        file: "src/replay/recorded.ts",
        find: '    if (!isFailure && entry.kind !== "child") break;',
        put: "    if (!isFailure) break;",
      },
    ],
    killedBy: [{ file: "test/workflow/retried-child.test.ts", test: "takes the child's new result" }],
  },
  {
    name: "a wait that lost a Promise.race is not noticed",
    breaks: "the next wait for its signal is reported",
    edits: [
      {
        file: "src/replay/lost-waits.ts",
        find: "madeAfter < this.#delivered",
        put: "madeAfter > this.#delivered",
      },
    ],
    killedBy: [{ file: RACE, test: "lost a Promise.race is reported" }],
  },
  {
    name: "parallel waits are taken for lost ones",
    breaks: "only a wait made before another ending is reported",
    edits: [
      {
        file: "src/replay/lost-waits.ts",
        find: "madeAfter < this.#delivered",
        put: "madeAfter <= this.#delivered",
      },
    ],
    killedBy: [{ file: RACE, test: "are not reported" }],
  },
  {
    name: "a cancel that no live node can carry out is not explained",
    breaks: "the answer names a missing node",
    edits: [
      {
        file: "src/client/ask-to-stop.ts",
        find: "...((await isUnserved(store, runId)) && NO_CAPABLE_NODE)",
        put: "...((await isUnserved(store, runId)) && {})",
      },
    ],
    killedBy: [{ file: "test/cli/finding.test.ts", test: "while no live node has its program, says so" }],
  },
];
