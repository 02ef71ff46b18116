// Breakpoints: before and after which nodes a run pauses, from its start or set while it lives.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { Effect } from "../kernel/run/effect.js";
import type { Frame, Memory } from "./memory.js";
import { type GraphPlan, nodeAt } from "./plan.js";
import { frameId, type NodePlace, parentOf, placesIn } from "./position.js";
import type { Breakpoints } from "./start-input.js";

/** The name of the message that sets them. */
export const BREAKPOINTS = "holdfast.breakpoints";

/** The run is to pause here. */
export class AtBreakpoint extends HoldfastError {
  readonly code = "AT_BREAKPOINT";
  readonly place: NodePlace;
  readonly when: "before" | "after";

  constructor(place: NodePlace, when: AtBreakpoint["when"]) {
    super(`The run pauses ${when} ${frameId(place)}.`);
    this.place = place;
    this.when = when;
  }

  /** One commit: the entry by which the run passes this point once it is resumed, and the pause. */
  effects(codecs: Codecs): readonly Effect[] {
    const { path: name, visit: key } = this.place;
    const payload = codecs.encode({ when: this.when });
    return [{ kind: "append", entry: { kind: "breakpoint", name, key, payload } }, { kind: "pause" }];
  }
}

/** Between two nodes of a frame; null: it does not stop here, or has stopped here before. */
export function stopAt({ breakpoints }: Memory, place: NodePlace, frame: Frame): AtBreakpoint | null {
  if (!breakpoints || frame.stopped) return null;
  const { before = [], after = [] } = breakpoints;
  const ended = (frame.from ?? []).flatMap((at) => placesIn(place, at)).find(({ path }) => after.includes(path));
  if (ended) return new AtBreakpoint(ended, "after");
  const begins = placesIn(place, frame.at).find(({ path }) => before.includes(path));
  return begins ? new AtBreakpoint(begins, "before") : null;
}

/** Recorded: the frame does not stop there again. */
export function passed(memory: Memory, place: NodePlace): void {
  const id = frameId(parentOf(place).frame);
  const frame = memory.frames.get(id);
  if (frame) memory.frames.set(id, { ...frame, stopped: true });
}

/** Taken out first: walks side by side do not apply it twice. */
export async function applyBreakpoints(memory: Memory, session: Session, codecs: Codecs): Promise<void> {
  const sent = memory.mail.filter(({ name }) => name === BREAKPOINTS);
  memory.mail = memory.mail.filter(({ name }) => name !== BREAKPOINTS);
  for (const { key, payload } of sent) {
    memory.breakpoints = codecs.decode(payload!) as Breakpoints;
    await session.commit([{ kind: "append", entry: { kind: "breakpoints", name: "", key: key!, payload: payload! } }]);
  }
}

export function checkBreakpoints(breakpoints: Breakpoints, plan: GraphPlan | null): Breakpoints {
  const { before = [], after = [] } = breakpoints;
  for (const [when, paths] of Object.entries({ before, after })) {
    if (!Array.isArray(paths) || paths.some((path) => typeof path !== "string"))
      throw new InvalidInput(`breakpoints.${when}`, "must be a list of nodes");
    const lost = plan && paths.find((path) => !nodeAt(plan, path));
    if (lost) throw new InvalidInput(`breakpoints.${when}`, `the graph has no node ${JSON.stringify(lost)}`);
  }
  return { before, after };
}
