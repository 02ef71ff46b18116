// Rejects what a durable machine cannot have, when it is defined, and says what to use instead.

import { HoldfastError } from "../kernel/error.js";

/** Something in the machine would be lost with its process. */
export class ActionRefused extends HoldfastError {
  readonly code = "MACHINE_REFUSED";

  constructor(machine: string, problem: string, where?: string) {
    super(`The machine ${JSON.stringify(machine)} ${problem}${where ? ` (in ${where})` : ""}. ${INSTEAD}`);
  }
}

const INSTEAD =
  "That would be lost with its process. Name the action in setup({ actions }) and implement it in `effects` of machine(): " +
  "an effect is retried, and the event that it returns is sent back. For another instance, use sendTo(instance(machine, id), …).";

/** The parts of an XState machine that are inspected. */
export interface Definable {
  readonly id: string;
  readonly implementations: { readonly actions: Readonly<Record<string, unknown>> };
}

export interface DefinableNode {
  readonly id: string;
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly always?: readonly { readonly actions: readonly unknown[] }[] | undefined;
  readonly invoke: readonly { readonly src: unknown }[];
  readonly transitions: ReadonlyMap<string, readonly { readonly actions: readonly unknown[] }[]>;
  readonly initial?: { readonly actions: readonly unknown[] } | undefined;
  readonly type: string;
}

interface BuiltIn {
  readonly type: string;
  readonly resolve: unknown;
  readonly to?: unknown;
}

const REFUSED = ["xstate.spawnChild", "xstate.stopChild", "xstate.stop"];

/** Returns the names of the actions that run as effects. `given`: those listed in `effects`. */
export function effectNames(machine: Definable, nodes: readonly DefinableNode[], given: readonly string[]): string[] {
  const names = new Set(given);
  for (const [name, action] of Object.entries(machine.implementations.actions)) {
    if (isBuiltIn(action)) refuseBuiltIn(machine, action, `action ${JSON.stringify(name)}`);
    else names.add(name);
  }
  for (const node of nodes) {
    if (node.invoke.length > 0) throw new ActionRefused(machine.id, "invokes an actor", `state ${node.id}`);
    for (const action of actionsOf(node)) names.add(checkAction(machine, action, node.id, given) ?? "");
  }
  names.delete("");
  return [...names];
}

function actionsOf(node: DefinableNode): unknown[] {
  const transitions = [...node.transitions.values()].flat();
  const initial = node.type === "compound" ? (node.initial?.actions ?? []) : [];
  const taken = [...transitions, ...(node.always ?? [])].flatMap(({ actions }) => actions);
  return [...node.entry, ...node.exit, ...initial, ...taken];
}

/** The name of an effect; null for actions built into XState. */
function checkAction(machine: Definable, action: unknown, state: string, given: readonly string[]): string | null {
  const where = `state ${state}`;
  if (isBuiltIn(action)) {
    refuseBuiltIn(machine, action, where);
    return null;
  }
  if (typeof action === "function") {
    throw new ActionRefused(machine.id, `has an inline action ${JSON.stringify(action.name || "(anonymous)")}`, where);
  }
  const name = typeof action === "string" ? action : (action as { readonly type: string }).type;
  const known = machine.implementations.actions[name];
  if (isBuiltIn(known)) return null;
  if (known === undefined && !given.includes(name)) {
    throw new ActionRefused(machine.id, `names an action ${JSON.stringify(name)} that is not implemented`, where);
  }
  return name;
}

function refuseBuiltIn(machine: Definable, { type, to }: BuiltIn, where: string): void {
  if (REFUSED.includes(type)) throw new ActionRefused(machine.id, `uses ${type.replace("xstate.", "")}`, where);
  if (type === "xstate.sendTo" && to === "#_parent") throw new ActionRefused(machine.id, "uses sendParent", where);
}

function isBuiltIn(action: unknown): action is BuiltIn {
  return typeof action === "function" && "resolve" in action;
}
