// An update of a run's state from outside: a message that the run applies by its reducers before its next node begins.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Effect } from "../kernel/run/effect.js";
import type { Message } from "../store/contract/inbox/inbox.js";
import { frozen } from "./frozen.js";
import type { Memory } from "./memory.js";
import { StateFailed } from "./needs-people.js";
import type { GraphPlan } from "./plan.js";
import { type Position, parsePosition } from "./position.js";
import { combined, type Fields, reduced } from "./reducer.js";

/** The name of the message. */
export const STATE_UPDATE = "holdfast.state";

export interface StateUpdate {
  readonly update: Fields;
  readonly by: string;
}

/** The entry that records when it counted, or that a reducer refused it. `key`: that of the message. */
export const UPDATED = "updated";
export const UPDATE_REFUSED = "update.refused";
/** The entry that records that it came while this step was in progress. */
export const UPDATE_HELD = "update.held";

export interface HeldUpdate {
  readonly at: Position;
}

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

/** Alone at an approval or a wait: no function has begun, and `apply` sees the state of the moment in which it is called. */
export function isAtGate({ frames }: Memory, plan: GraphPlan): boolean {
  const { node } = parsePosition(frames.get("")!.at);
  const spec = Object.hasOwn(plan.nodes, node) ? plan.nodes[node]! : null;
  return spec?.kind === "approval" || spec?.kind === "wait";
}

/**
 * Whether the graph's own step has begun: updates wait for its end, so that all of its items, branches and attempts have one state. What
 * the journal has of the step shows it to the next holder, too.
 */
export function isInProgress(memory: Memory, plan: GraphPlan): boolean {
  if (memory.busyAt === memory.frames.get("")!.at) return true;
  return !isAtGate(memory, plan) && !(memory.isQuiet && memory.frames.size === 1 && memory.progressCounts.size === 0);
}

/** Written with an update that is taken while a step is in progress: nothing else may show that a function has begun. */
export function heldEffects(
  { busyAt, frames }: Memory,
  messages: readonly Message[],
  codecs: Codecs,
): readonly Effect[] {
  const update = messages.find(({ name }) => name === STATE_UPDATE);
  if (!update || busyAt === null || busyAt !== frames.get("")?.at) return [];
  const payload = codecs.encode({ at: busyAt } satisfies HeldUpdate);
  return [{ kind: "append", entry: { kind: UPDATE_HELD, name: "", key: update.key, payload } }];
}

/**
 * Between two nodes of the graph itself. What a reducer refuses is recorded and dropped: the run is not to fail for its sender's mistake.
 */
export async function applyUpdates({ memory, plan, codecs, session }: Updating): Promise<void> {
  for (const { name, key, payload } of memory.mail) {
    if (name !== STATE_UPDATE) continue;
    const value = codecs.decode(payload!) as StateUpdate;
    const kind = accepts(memory, plan, value.update) ? UPDATED : UPDATE_REFUSED;
    await session.commit([{ kind: "append", entry: { kind, name: "", key: key!, payload: payload! } }]);
    if (kind === UPDATED) applyUpdate(memory, plan, key!, value);
    else forgetUpdate(memory, key!);
  }
}

function accepts({ frames }: Memory, { reducers }: GraphPlan, update: Fields): boolean {
  try {
    combined(reducers, frames.get("")!.state, update);
    return true;
  } catch {
    return false;
  }
}

interface Updating {
  readonly memory: Memory;
  readonly plan: GraphPlan;
  readonly codecs: Codecs;
  readonly session: Session;
}
