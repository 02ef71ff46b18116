// Applies events to an instance, one after the other. Pure: it reads and writes nothing.

import { HoldfastError } from "../kernel/error.js";
import type { Append } from "../store/contract/machine/machines.js";
import type { AnyMachine } from "./definition.js";
import { Draft, type Fired, type InstanceWorld, shownBranch, type TimerPayload } from "./draft.js";
import { InstanceEnded, SequenceConflict, TransitionFailed } from "./errors.js";
import type { InstanceState } from "./instance-state.js";
import type { AfterBranch, MachineEvent, Order } from "./logic.js";
import { renamePath } from "./rename-states.js";

/** `timer`: its row is removed with this append; null when there is none. */
export type Incoming = (
  | {
      readonly kind: "event";
      readonly event: MachineEvent;
      readonly key: string | null;
      readonly by: string | null;
      readonly expectedSeq?: number | undefined;
      /** The answer of an effect or an actor: for the entry of the state that asked, and no later one. */
      readonly answers?: Answers | undefined;
    }
  | TimerPayload
  | { readonly kind: "stop"; readonly by: string | null; readonly reason: string | null }
) & { readonly timer: Fired | null };

export interface Answers {
  readonly path: string;
  readonly seq: number;
  /** The id of an invoked actor; null for an effect. */
  readonly actor: string | null;
}

export type StepOutcome =
  | { readonly outcome: "applied"; readonly seq: number }
  /** No transition takes it. */
  | { readonly outcome: "unhandled" }
  /** The state was left since the timer was set, or entered again since the effect was asked for. */
  | { readonly outcome: "stale" }
  /** The current definition has no such branch. */
  | { readonly outcome: "unknown branch" }
  | { readonly outcome: "failed"; readonly error: HoldfastError };

export class Steps {
  readonly #machine: AnyMachine;
  readonly #from: number;
  #draft: Draft;

  readonly #replaying: boolean;
  /** Events that the machine sent to itself: each is a step of its own, in the order in which they were sent. */
  #own: MachineEvent[] = [];

  /** `replaying`: every event is in the log, including those that the machine sent to itself. */
  constructor(machine: AnyMachine, place: InstanceWorld, from: InstanceState, replaying = false) {
    this.#machine = machine;
    this.#replaying = replaying;
    this.#from = from.seq;
    this.#draft = new Draft(machine, place, from);
  }

  /** The state after everything that was applied, as it will be once written. */
  get state(): InstanceState {
    return this.#draft.state;
  }

  get draft(): Draft {
    return this.#draft;
  }

  /** The first step. Throws what the machine throws. */
  begin(input: unknown): void {
    const step = this.#tried("start", () => this.#machine.logic.begin(input));
    const draft = this.#draft.copy();
    draft.record({ kind: "start", name: "start", key: null, by: null }, input);
    draft.move(step);
    this.#draft = draft;
    this.#queueOwn(step.orders);
    this.#applyOwn();
  }

  apply(incoming: Incoming): StepOutcome {
    try {
      const outcome = this.#apply(incoming);
      this.#applyOwn();
      return outcome;
    } catch (error) {
      if (error instanceof HoldfastError) return { outcome: "failed", error };
      throw error;
    }
  }

  /** Arms timers of the current definition, as an event of its own. `names`: what is shown of them. */
  arm(
    timers: readonly { readonly branch: AfterBranch; readonly delayMs: number }[],
    removed: readonly string[],
    names: readonly string[],
  ): Append {
    const draft = this.#draft.copy();
    const event = { kind: "timer", name: `armed ${names.join(", ")}`, key: null, by: null } as const;
    draft.record(event, { type: "armed", timers: timers.map(({ branch }) => branch) });
    draft.arm(timers, removed);
    this.#draft = draft;
    return draft.append(this.#from);
  }

  /** Null: nothing is to be written. */
  append(): Append | null {
    return this.#draft.kept.events.length === 0 ? null : this.#draft.append(this.#from);
  }

  #apply(incoming: Incoming): StepOutcome {
    const { id, seq, status } = this.state;
    if (incoming.kind === "event" && (incoming.expectedSeq ?? seq) !== seq) {
      throw new SequenceConflict(id, incoming.expectedSeq!, seq);
    }
    if (status !== "active") throw new InstanceEnded(id, status, seq);
    const draft = this.#draft.copy();
    if (incoming.timer) draft.fire(incoming.timer);
    if (incoming.kind === "stop") {
      const { by, reason } = incoming;
      draft.record({ kind: "stop", name: "stop", key: null, by }, { reason });
      draft.stop();
      this.#draft = draft;
      return { outcome: "applied", seq: draft.state.seq };
    }
    const found = this.#eventOf(incoming);
    if ("outcome" in found) return found;
    const { event } = found;
    const step = this.#tried(event.type, () => this.#machine.logic.next(this.state.live, event));
    if (!step) return { outcome: "unhandled" };
    recordIncoming(draft, incoming, event);
    draft.answered(actorOf(event));
    draft.move(step);
    this.#draft = draft;
    this.#queueOwn(step.orders);
    return { outcome: "applied", seq: draft.state.seq };
  }

  #queueOwn(orders: readonly Order[]): void {
    if (this.#replaying) return;
    for (const order of orders) if (order.kind === "toSelf") this.#own.push(order.event);
  }

  /** Nothing can be done about an event that fails here, because its sender is past: the instance fails, as in XState. */
  #applyOwn(): void {
    while (this.#own.length > 0 && this.state.status === "active") {
      const event = this.#own.shift()!;
      try {
        this.#apply({ kind: "event", event, key: null, by: "self", timer: null });
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        const draft = this.#draft.copy();
        draft.record({ kind: "event", name: event.type, key: null, by: "self" }, event);
        draft.fail({ name: error.name, message: error.message, code: error.code });
        this.#draft = draft;
      }
    }
    this.#own = [];
  }

  #eventOf(incoming: Exclude<Incoming, { kind: "stop" }>): { readonly event: MachineEvent } | StepOutcome {
    const { entered, armed } = this.state;
    if (incoming.kind === "event") {
      return incoming.answers && this.#isStale(incoming.answers) ? { outcome: "stale" } : { event: incoming.event };
    }
    if (incoming.kind === "raise") {
      const { name, generation, timer, event } = incoming;
      const { cancelled, timers } = this.#draft.kept;
      const over = timer ? cancelled.has(timer.id) || timers.has(timer.id) : armed[name] !== generation;
      return over ? { outcome: "stale" } : { event };
    }
    const path = renamePath(this.#machine.renamed, incoming.branch.path);
    if (entered[path] !== incoming.generation) return { outcome: "stale" };
    const event = this.#machine.logic.eventOf({ ...incoming.branch, path });
    return event ? { event } : { outcome: "unknown branch" };
  }

  #isStale({ path, seq, actor }: Answers): boolean {
    const { asked, invoked } = this.state;
    if (actor !== null) return invoked[actor]?.seq !== seq;
    return asked[renamePath(this.#machine.renamed, path)] !== seq;
  }

  #tried<T>(type: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw error instanceof HoldfastError ? error : new TransitionFailed(this.#machine.name, type, error);
    }
  }
}

/** The id of the actor whose answer this is; empty for any other event. */
function actorOf({ type }: MachineEvent): string {
  return /^xstate\.(?:done|error)\.actor\.(.*)$/s.exec(type)?.[1] ?? "";
}

/** The branch of an `after` is recorded, because its event's name changes when the definition is edited. */
function recordIncoming(draft: Draft, incoming: Exclude<Incoming, { kind: "stop" }>, event: MachineEvent): void {
  if (incoming.kind === "event") {
    const { key, by } = incoming;
    draft.record({ kind: "event", name: event.type, key, by }, event);
  } else {
    const { name, value } =
      incoming.kind === "after"
        ? { name: shownBranch(incoming.branch), value: incoming.branch }
        : { name: event.type, value: event };
    draft.record({ kind: "timer", name, key: null, by: null }, value);
  }
}
