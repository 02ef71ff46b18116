// Planted bugs in what state machines do as XState does it: answers, invoked actors, history, added timers, the context.

import type { Mutant } from "./mutant.js";

const LIKE_XSTATE = "test/machine/like-xstate.test.ts";

export const machineCharts: readonly Mutant[] = [
  {
    name: "an answer reaches a later stay in the state",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/steps.ts",
        find: "    return asked[renamePath(this.#machine.renamed, path)] !== seq;",
        put: "    return asked[renamePath(this.#machine.renamed, path)] === undefined;",
      },
    ],
    killedBy: [{ file: LIKE_XSTATE, test: "to an earlier stay in the state is dropped and counted" }],
  },
  {
    name: "the answer of a stopped actor counts",
    breaks: "S11",
    edits: [
      {
        file: "src/machine/steps.ts",
        find: "    if (actor !== null) return invoked[actor]?.seq !== seq;",
        put: "    if (actor !== null) return invoked[actor] === undefined;",
      },
      {
        file: "src/machine/draft.ts",
        find: "      if (!begun.delete(id)) this.#stopActor(actor);\n",
        put: "      begun.delete(id);\n",
      },
    ],
    killedBy: [{ file: "test/machine/invoke.test.ts", test: "is stopped when its state is left" }],
  },
  {
    name: "an event to itself that throws is forgotten",
    breaks: "S8",
    edits: [
      {
        file: "src/machine/steps.ts",
        find: "        draft.fail({ name: error.name, message: error.message, code: error.code });\n        this.#draft = draft;\n",
        put: "        draft.fail({ name: error.name, message: error.message, code: error.code });\n",
      },
    ],
    killedBy: [{ file: LIKE_XSTATE, test: "one that throws fails the instance, on record" }],
  },
  {
    name: "a remembered state keeps its old name",
    breaks: "S8",
    edits: [
      {
        file: "src/machine/instance-state.ts",
        find: "[path(of), paths.map(path)]",
        put: "[path(of), paths]",
      },
    ],
    killedBy: [{ file: LIKE_XSTATE, test: "renames what a history state remembers" }],
  },
  {
    name: "a timer that a deployment adds is never armed",
    breaks: "L4",
    edits: [
      {
        file: "src/machine/instances.ts",
        find: "    if (!state.unarmed) return state;",
        put: "    if (state.seq >= 0) return state;",
      },
    ],
    killedBy: [{ file: LIKE_XSTATE, test: "that adds a timer to a state arms the instances in it" }],
  },
  {
    name: "a caller's change of the context is stored",
    breaks: "S8",
    edits: [
      {
        file: "src/machine/instance.ts",
        find: 'const context = codecs.decode(codecs.encode(view.context, "context"));',
        put: "const context = codecs && view.context;",
      },
    ],
    killedBy: [{ file: LIKE_XSTATE, test: "of state() is a copy" }],
  },
];
