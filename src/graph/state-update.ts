// An update of a run's state from outside: a message that the run applies by its reducers before its next node begins.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { frozen } from "./frozen.js";
import type { Memory } from "./memory.js";
import { StateFailed } from "./needs-people.js";
import type { GraphPlan } from "./plan.js";
import { type Fields, reduced } from "./reducer.js";

/** The name of the message. */
export const STATE_UPDATE = "holdfast.state";

export interface StateUpdate {
  readonly update: Fields;
  readonly by: string;
}

/** The entry that records when it counted, or that a reducer refused it. `key`: that of the message. */
export const UPDATED = "updated";
export const UPDATE_REFUSED = "update.refused";

export function applyUpdate(memory: Memory, plan: GraphPlan, key: string, { update }: StateUpdate): void {
  forgetUpdate(memory, key);
  const frame = memory.frames.get("");
  if (!frame || memory.problem) return;
  try {
    memory.frames.set("", { ...frame, state: frozen(reduced(plan.reducers, frame.state, update)) });
  } catch (error) {
    memory.problem = new StateFailed("reducer", error); // it was accepted once, by other code
  }
}

export function forgetUpdate(memory: Memory, key: string): void {
  memory.mail = memory.mail.filter((one) => one.key !== key);
}

/**
 * Between two nodes of the graph itself: no node that has begun sees another state than it was recorded with. What a reducer refuses
 * is recorded and dropped: the run is not to fail for its sender's mistake.
 */
export async function applyUpdates(
  { memory, plan, codecs, session }: Updating,
  accepts: (update: Fields) => boolean,
): Promise<void> {
  for (const { name, key, payload } of memory.mail) {
    if (name !== STATE_UPDATE) continue;
    const value = codecs.decode(payload!) as StateUpdate;
    const kind = accepts(value.update) ? UPDATED : UPDATE_REFUSED;
    await session.commit([{ kind: "append", entry: { kind, name: "", key: key!, payload: payload! } }]);
    if (kind === UPDATED) applyUpdate(memory, plan, key!, value);
    else forgetUpdate(memory, key!);
  }
}

interface Updating {
  readonly memory: Memory;
  readonly plan: GraphPlan;
  readonly codecs: Codecs;
  readonly session: Session;
}
