// Creates the context of a node's function.

import { decodeError } from "../kernel/codec/recorded-error.js";
import type { StepInfo } from "../replay/step-call.js";
import { countProgress } from "./fold.js";
import type { ItemContext, NodeContext } from "./node-context.js";
import type { NodeVisit, Walker } from "./node-visit.js";
import { frameId } from "./position.js";
import type { Spending } from "./spending.js";

export function nodeContext(
  { parts }: Walker,
  { place, failure }: NodeVisit,
  info: StepInfo,
  spending: Spending,
): NodeContext {
  const { memory, replay, codecs, services, beginning } = parts;
  const { path, visit } = place;
  const { idempotencyKey, fence, attempt } = info;
  let reported = 0;
  return {
    idempotencyKey,
    fence,
    attempt,
    // A getter, so that a signal is created only if it is used.
    get signal() {
      return info.signal;
    },
    runId: replay.session.run.runId,
    node: path,
    visit,
    services,
    failure: failure && { node: failure.node, error: decodeError(failure.error) },
    spend: (budget, amount) => spending.spend(budget, amount),
    /**
     * Progress reported before a crash is not written again: each entry counts as progress of the run, and a node that
     * kills its process would never reach the crash limit.
     */
    async progress(value) {
      replay.throwIfOver();
      const id = frameId(place);
      reported++;
      if (reported <= (memory.progressCounts.get(id) ?? 0)) return;
      const payload = codecs.encode(value, `progress of ${path}`);
      countProgress(memory, id);
      await replay.session.commit([
        ...beginning.take(),
        { kind: "append", entry: { kind: "progress", name: path, key: `${visit}:${reported}`, payload } },
        ...spending.effects(place, codecs),
      ]);
    },
  };
}

export function itemContext(context: NodeContext, index: number): ItemContext {
  return Object.assign(context, { index });
}
