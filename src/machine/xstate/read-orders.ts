// Reads the actions that XState would execute in a step as orders: what is to be stored, sent, scheduled or done.

import type { Address, AfterBranch, MachineEvent, Order } from "../logic.js";
import { ActionRefused } from "../refuse-definition.js";
import { MARK, type Mark } from "./marked-machine.js";
import type { AnyStateMachine } from "./xstate.js";

/** An action as XState passes it to its executor. */
export interface Executable {
  readonly type: string;
  readonly params: unknown;
  readonly info: { readonly context: unknown; readonly event: MachineEvent };
  readonly exec: unknown;
}

interface Sending {
  readonly event: MachineEvent;
  readonly id?: string;
  readonly delay?: number;
  readonly to?: unknown;
}

/** Another instance, as a target of XState's `sendTo`. */
export interface Target {
  readonly "~instance": Address;
}

export interface ReaderOptions {
  readonly machine: AnyStateMachine;
  /** The timers of `after`, by the type of their event. */
  readonly branches: ReadonlyMap<string, AfterBranch>;
  readonly effects: ReadonlySet<string>;
  /** The actor that XState takes for the machine itself. */
  readonly self: unknown;
}

export interface Read {
  readonly orders: readonly Order[];
  /** Whether a transition was taken. */
  readonly taken: boolean;
}

export function readOrders(actions: readonly Executable[], options: ReaderOptions): Read {
  const orders: Order[] = [];
  let taken = false;
  // The state that the next actions belong to.
  let owner: string | null = null;
  for (const action of actions) {
    if (action.type !== MARK) {
      orders.push(...orderOf(action, options, owner));
      continue;
    }
    const mark = action.params as Mark;
    owner = mark.at === "leaving" ? null : mark.path;
    if (mark.at === "taken") taken = true;
    else if (mark.at === "entered") orders.push({ kind: "entered", path: mark.path });
    else if (mark.at === "leaving") orders.push({ kind: "exited", path: mark.path });
    else orders.push(invoked(mark, action.info, options.self));
  }
  return { orders, taken };
}

function invoked(
  { path, id, input }: Extract<Mark, { at: "invoked" }>,
  { context, event }: Executable["info"],
  self: unknown,
): Order {
  return { kind: "invoke", path, id, input: typeof input === "function" ? input({ context, event, self }) : input };
}

function orderOf(action: Executable, options: ReaderOptions, path: string | null): Order[] {
  const { type, params, info, exec } = action;
  const { machine, effects, branches } = options;
  switch (type) {
    case "xstate.raise":
      return raised(params as Sending, branches);
    case "xstate.cancel":
      return [cancelled((params as { sendId: string }).sendId, branches)];
    case "xstate.sendTo":
      return sent(params as Sending, options);
    case "xstate.emit":
      return [{ kind: "emit", event: (params as Sending).event }];
    case "xstate.log": {
      const { label, value } = params as { label?: string; value: unknown };
      return [{ kind: "log", label: label ?? null, value }];
    }
    // A machine that ends stops its children. Those are instances, and the order of their state's exit stops them.
    case "xstate.stopChild":
      return [];
  }
  if (type.startsWith("xstate.")) throw new ActionRefused(machine.id, `uses ${type}`);
  const isNamed = effects.has(type) && (exec === undefined || exec === machine.implementations.actions[type]);
  if (!isNamed) throw new ActionRefused(machine.id, `runs an inline action ${JSON.stringify(type)}`);
  return [{ kind: "effect", name: type, params, context: info.context, event: info.event, path }];
}

/** Without a delay, XState has already processed the event. */
function raised({ event, id, delay }: Sending, branches: ReaderOptions["branches"]): Order[] {
  if (delay === undefined) return [];
  const branch = id === undefined ? undefined : branches.get(id);
  if (branch) return [{ kind: "after", branch, delayMs: Math.max(delay, 0) }];
  return [{ kind: "raise", id: id ?? null, event, delayMs: Math.max(delay, 0) }];
}

function cancelled(id: string, branches: ReaderOptions["branches"]): Order {
  const branch = branches.get(id);
  return branch ? { kind: "left", path: branch.path, delay: branch.delay } : { kind: "cancel", id };
}

function sent({ event, id, delay, to }: Sending, { machine, self }: ReaderOptions): Order[] {
  const target = (to as Target | undefined)?.["~instance"];
  if (target) return [{ kind: "send", to: target, event, delayMs: Math.max(delay ?? 0, 0), sendId: id ?? null }];
  if (to !== self) throw new ActionRefused(machine.id, "sends to an actor of its own");
  if (delay === undefined) return [{ kind: "toSelf", event }];
  return [{ kind: "raise", id: id ?? null, event, delayMs: Math.max(delay, 0) }];
}
