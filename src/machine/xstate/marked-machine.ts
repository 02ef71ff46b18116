// Copies an XState machine and marks its states and transitions, so that a step reports which states it entered and left, which
// transitions it took, and which actors it invokes. The original is not changed.

import type { AnyStateMachine } from "./xstate.js";

type Node = AnyStateMachine["root"];

export const MARK = "holdfast.mark";

/** The parameters of a mark, an action that only reports where XState is. */
export type Mark =
  | { readonly at: "entered"; readonly path: string }
  | { readonly at: "leaving"; readonly path: string }
  /** `path`: the state that the actions of the transition belong to. */
  | { readonly at: "taken"; readonly path: string }
  | { readonly at: "invoked"; readonly path: string; readonly id: string; readonly input: unknown };

interface Marked {
  readonly type: string;
  readonly path: readonly string[];
  readonly parent?: Marked | undefined;
}

interface Transition {
  readonly target?: readonly Marked[] | undefined;
  actions: readonly unknown[];
}

interface Actor {
  readonly id: string;
  readonly input?: unknown;
}

/** `children`: the actors that the machine invokes, as targets of `sendTo`. */
export function marked(definition: AnyStateMachine, children: Readonly<Record<string, unknown>>): AnyStateMachine {
  const copy = definition.provide({}) as AnyStateMachine;
  for (const node of nodesOf(copy.root)) markNode(node);
  const withChildren = copy as unknown as { _getPreInitialState: (...rest: unknown[]) => object };
  const before = withChildren._getPreInitialState.bind(copy);
  withChildren._getPreInitialState = (...rest) => ({ ...before(...rest), children: { ...children } });
  return copy;
}

/** XState would start invoked actors in this process, so its list of them is emptied: a mark reports each instead. */
function markNode(node: Node): void {
  const path = pathOf(node);
  const lists = node as unknown as { readonly entry: unknown[]; readonly exit: unknown[] };
  const actors = node.invoke as unknown as readonly Actor[];
  lists.entry.unshift(mark({ at: "entered", path }));
  lists.entry.push(...actors.map(({ id, input }) => mark({ at: "invoked", path, id, input })));
  lists.exit.unshift(mark({ at: "leaving", path }));
  Object.defineProperty(node, "invoke", { value: [] });
  const transitions = [...node.transitions.values()].flat() as unknown as Transition[];
  const always = (node.always ?? []) as unknown as Transition[];
  for (const transition of [...transitions, ...always]) {
    const { target, actions } = transition;
    // A forbidden transition, as `on: { PAY: {} }`, takes nothing. The list may be the user's own: replaced, not changed.
    if (target === undefined && actions.length === 0) continue;
    transition.actions = [mark({ at: "taken", path: ownerOf(target) ?? path }), ...actions];
  }
}

function mark(params: Mark): unknown {
  return { type: MARK, params };
}

/** A history state is never entered itself. */
function ownerOf(target: readonly Marked[] | undefined): string | null {
  const first = target?.[0];
  if (!first) return null;
  return pathOf(first.type === "history" ? first.parent! : first);
}

export function nodesOf(node: Node): Node[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child as Node))];
}

export function pathOf(node: { readonly path: readonly string[] }): string {
  return node.path.join(".");
}
