// Where steps work: each attempt is recorded before it does anything, takes its time, and then returns, fails or kills
// its node.

import { HoldfastError } from "../kernel/error.js";
import { sleep } from "../kernel/world.js";
import type { Node } from "../node/create-node.js";
import type { EffectLog } from "./effect-log.js";
import type { Incarnation } from "./incarnation.js";
import type { Place } from "./workload/workload.js";

class SimulatedFailure extends HoldfastError {
  readonly code = "SIMULATED_FAILURE";
}

export function placeIn(world: Incarnation, effects: EffectLog, kill: () => void, node: () => Node): Place {
  return {
    async start(workflow, input, tx) {
      await node().start(workflow, input, { tx });
    },
    async emit(type, payload, tx) {
      await node().emit(type, payload, { tx });
    },
    async effect(runId, info, op, after) {
      // The code of a process that was just killed runs on to its next wait; it does nothing outside any more.
      if (!world.alive) return gone();
      const record = effects.start({ by: world.name, runId, info, after }, op);
      const tried = effects.of(info.idempotencyKey);
      if (tried.length <= op.kills) {
        kill();
        return gone();
      }
      if (op.ms > 0) await sleep(world, op.ms);
      effects.finish(record, info.signal.aborted);
      if (tried.filter(({ failed }) => failed).length < op.fails) {
        record.failed = true;
        throw new SimulatedFailure(`attempt ${info.attempt}`);
      }
      return effects.answer(record);
    },
  };
}

function gone(): Promise<never> {
  return new Promise(() => {});
}
