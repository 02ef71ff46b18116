// What runs write outside their own journals, each in the transaction of a step: starts, events, search attributes
// and keys of outputs.
//
// The mode of the node does not matter here, as for children: a run that works on this node may start others.

import { KeyConflict, type Runs } from "../client/runs.js";
import { MOST_ATTRIBUTES, TooManyAttributes } from "../kernel/run/attribute.js";
import type { RunWrites } from "../program/environment.js";
import type { Store } from "../store/contract/store.js";
import type { Emitter } from "../trigger/emitter.js";

export function runWrites(
  { store, env }: { readonly store: Store; readonly env: string },
  runs: Runs,
  emitter: Emitter,
): RunWrites {
  return {
    start: async (program, input, options, tx) => {
      const [answer] = await store.runs.insert([runs.newRun(program, input, options)], { tx });
      if (answer!.outcome === "refused") throw answer!.error;
      if (answer!.outcome === "conflict") throw new KeyConflict(options.key!, answer!.runId);
      return answer!.runId;
    },
    emit: (name, payload, id, tx) => emitter.emit({ kind: "event type", name }, payload, { id, tx }),
    setAttributes: async (runId, attributes, tx) => {
      const { outcome } = await store.runs.setAttributes({ runId, attributes }, { tx });
      if (outcome === "too many") throw new TooManyAttributes("attributes", MOST_ATTRIBUTES + 1);
    },
    takeOutput: async (call, tx) => {
      const answer = await store.runs.takeOutput({ ...call, env }, { tx });
      return answer.outcome === "taken" ? null : answer.runId;
    },
  };
}
