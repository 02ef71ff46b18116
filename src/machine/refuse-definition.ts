// Rejects what a durable machine cannot have, when it is defined, and says what to use instead.

import { HoldfastError } from "../kernel/error.js";

const INSTEAD =
  "That would be lost with its process. Name the action in setup({ actions }) and implement it in `effects` of machine(): " +
  "an effect is retried, and the event that it returns is sent back. For another instance, use sendTo(instance(machine, id), …).";

export const SPAWN_INSTEAD =
  "That would be lost with its process. Use `invoke` in a state, with fromPromise or with a machine that `actors` of machine() names; " +
  "or start an instance of its own and reach it with sendTo(instance(machine, id), …). Work without an answer belongs in `effects`.";

/** Something in the machine would be lost with its process. */
export class ActionRefused extends HoldfastError {
  readonly code = "MACHINE_REFUSED";

  constructor(machine: string, problem: string, where?: string, instead = INSTEAD) {
    super(`The machine ${JSON.stringify(machine)} ${problem}${where ? ` (in ${where})` : ""}. ${instead}`);
  }
}

/** The parts of an XState machine that are inspected. */
export interface Definable {
  readonly id: string;
  readonly config: { readonly context?: unknown };
  readonly implementations: { readonly actions: Readonly<Record<string, unknown>> };
}

export interface DefinableNode {
  readonly id: string;
  readonly config: { readonly route?: unknown };
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly always?: readonly { readonly actions: readonly unknown[] }[] | undefined;
  readonly invoke: readonly { readonly id: string }[];
  readonly transitions: ReadonlyMap<string, readonly { readonly actions: readonly unknown[] }[]>;
  readonly initial?: { readonly actions: readonly unknown[] } | undefined;
  readonly type: string;
}

interface BuiltIn {
  readonly type: string;
  readonly resolve: unknown;
  readonly to?: unknown;
  readonly assignment?: unknown;
  readonly collect?: unknown;
}

interface Inspected {
  readonly machine: Definable;
  /** Named in `effects`. */
  readonly given: readonly string[];
  /** The ids of invoked actors. */
  readonly children: ReadonlySet<string>;
}

const REFUSED = ["xstate.spawnChild", "xstate.stopChild", "xstate.stop"];

/** Returns the names of the actions that run as effects. `given`: those listed in `effects`. */
export function effectNames(machine: Definable, nodes: readonly DefinableNode[], given: readonly string[]): string[] {
  const children = new Set(nodes.flatMap(({ invoke }) => invoke.map(({ id }) => id)));
  const inspected = { machine, given, children };
  const names = new Set(given);
  if (spawns(machine.config.context))
    throw new ActionRefused(machine.id, "spawns an actor in its context", undefined, SPAWN_INSTEAD);
  for (const [name, action] of Object.entries(machine.implementations.actions)) {
    if (isBuiltIn(action)) refuseBuiltIn(inspected, action, `action ${JSON.stringify(name)}`);
    else names.add(name);
  }
  for (const node of nodes) {
    if (node.config.route !== undefined)
      throw new ActionRefused(
        machine.id,
        "has a route",
        `state ${node.id}`,
        'XState\'s own events are not accepted from outside. Use an event of your own: on: { GO: "#id" }.',
      );
    for (const action of actionsOf(node)) names.add(checkAction(inspected, action, `state ${node.id}`) ?? "");
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
function checkAction(inspected: Inspected, action: unknown, where: string): string | null {
  const { machine } = inspected;
  if (isBuiltIn(action)) {
    refuseBuiltIn(inspected, action, where);
    return null;
  }
  if (typeof action === "function") {
    throw new ActionRefused(machine.id, `has an inline action ${JSON.stringify(action.name || "(anonymous)")}`, where);
  }
  const name = typeof action === "string" ? action : (action as { readonly type: string }).type;
  return expectNamed(inspected, name, where);
}

function expectNamed({ machine, given }: Inspected, name: string, where: string): string | null {
  const known = machine.implementations.actions[name];
  if (isBuiltIn(known)) return null;
  if (known === undefined && !given.includes(name)) {
    throw new ActionRefused(machine.id, `names an action ${JSON.stringify(name)} that is not implemented`, where);
  }
  return name;
}

function refuseBuiltIn(inspected: Inspected, action: BuiltIn, where: string): void {
  const { type, to, assignment, collect } = action;
  const { machine, children } = inspected;
  if (REFUSED.includes(type))
    throw new ActionRefused(machine.id, `uses ${type.replace("xstate.", "")}`, where, SPAWN_INSTEAD);
  const given = typeof assignment === "object" && assignment !== null ? Object.values(assignment) : [assignment];
  if (type === "xstate.assign" && given.some(spawns))
    throw new ActionRefused(machine.id, "spawns an actor in assign()", where, SPAWN_INSTEAD);
  if (type === "xstate.sendTo" && typeof to === "string" && !to.startsWith("#_") && !children.has(to))
    throw new ActionRefused(machine.id, `sends to ${JSON.stringify(to)}, which no state invokes`, where, SPAWN_INSTEAD);
  if (type === "xstate.enqueueActions") refuseEnqueued(inspected, String(collect), where);
}

/** The actions are known only when they are enqueued, so the function's own text is looked at; what it hides is refused by the step. */
function refuseEnqueued(inspected: Inspected, text: string, where: string): void {
  const { machine } = inspected;
  const built = /\benqueue\s*\.\s*(spawnChild|stopChild)\b/.exec(text);
  if (built) throw new ActionRefused(machine.id, `uses enqueue.${built[1]}`, where, SPAWN_INSTEAD);
  if (/\benqueue\(\s*(?:async\b|function\b|\([^()]*\)\s*=>|\w+\s*=>)/.test(text))
    throw new ActionRefused(machine.id, "enqueues an inline action", where);
  for (const [, , name] of text.matchAll(/\benqueue\(\s*(?:\{\s*type:\s*)?(["'`])([^"'`$]+)\1/g))
    expectNamed(inspected, name!, where);
}

function spawns(made: unknown): boolean {
  return usedBy(made, ["spawn"]) !== null || (typeof made === "function" && /\.spawn\s*\(/.test(String(made)));
}

/** An action of the machine's own that runs as an effect, in any process: there is no actor that it could reach. */
export function refuseActors(machine: string, name: string, action: unknown): void {
  const used = usedBy(action, ["self", "system"]);
  if (used !== null) throw new ActionRefused(machine, `has an action ${JSON.stringify(name)} that uses \`${used}\``);
}

/** Which of these a function takes from its argument, by its text: `({ spawn }) => …`, or `args.spawn(…)`; null: none of them. */
function usedBy(made: unknown, names: readonly string[]): string | null {
  if (typeof made !== "function") return null;
  const text = String(made);
  const head = /^(?:async\s+)?(?:function\b[^(]*|[\w$]+\s*(?=\())?\(?\s*(?:\{([^}]*)\}|([\w$]+))/.exec(text);
  const [, taken = "", whole] = head ?? [];
  const isUsed = (name: string) =>
    new RegExp(`(?:^|,)\\s*${name}\\b`).test(taken) ||
    (whole !== undefined && new RegExp(`(?<![\\w$.])${escaped(whole)}\\s*\\??\\.\\s*${name}\\b`).test(text));
  return names.find(isUsed) ?? null;
}

function escaped(name: string): string {
  return name.replaceAll("$", "\\$");
}

function isBuiltIn(action: unknown): action is BuiltIn {
  return typeof action === "function" && "resolve" in action;
}
