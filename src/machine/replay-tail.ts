// Applies the events after the last snapshot again: recomputes what was written, and writes nothing.

import type { InstanceEvent, LoadedInstance } from "../store/contract/machine/machines.js";
import type { AnyMachine } from "./definition.js";
import type { InstanceWorld } from "./draft.js";
import { InstanceQuarantined } from "./errors.js";
import type { InstanceState } from "./instance-state.js";
import type { AfterBranch, MachineEvent } from "./logic.js";
import { renamePath } from "./rename-states.js";
import { type Incoming, Steps } from "./steps.js";

/** Throws InstanceQuarantined when the code does not arrive at the stored state: it was changed, or it is not pure. */
export function replayTail(
  machine: AnyMachine,
  place: InstanceWorld,
  state: InstanceState,
  { loaded, events }: { readonly loaded: LoadedInstance; readonly events: readonly InstanceEvent[] },
): InstanceState {
  const steps = new Steps(machine, place, { ...state, status: "active" }, true);
  for (const event of events) {
    if (event.seq !== steps.state.seq + 1)
      throw new InstanceQuarantined(loaded.id, `event ${event.seq - 1} is missing.`);
    const answer = steps.apply(incomingOf(machine, place, steps.state, event));
    if (answer.outcome !== "applied") {
      const problem = `event ${event.seq} (${event.name}) of its log has no effect in this code.`;
      throw new InstanceQuarantined(loaded.id, problem);
    }
  }
  const { seq, live } = steps.state;
  const value = JSON.stringify(machine.logic.view(live).value);
  if (seq !== loaded.seq || value !== loaded.value) {
    const problem = `its log leads to ${value} at ${seq}, but it was in ${loaded.value} at ${loaded.seq}.`;
    throw new InstanceQuarantined(loaded.id, problem);
  }
  return { ...steps.state, snapshotSeq: loaded.snapshotSeq };
}

function incomingOf(
  machine: AnyMachine,
  { codecs }: InstanceWorld,
  { entered }: InstanceState,
  { kind, key, by, payload }: InstanceEvent,
): Incoming {
  const value = codecs.decode(payload);
  if (kind === "stop") return { kind, by, reason: null, timer: null };
  if (kind === "timer" && !("type" in (value as object))) {
    const branch = value as AfterBranch;
    const generation = entered[renamePath(machine.renamed, branch.path)] ?? 0;
    return { kind: "after", branch, generation, timer: null };
  }
  return { kind: "event", event: value as MachineEvent, key, by, timer: null };
}
