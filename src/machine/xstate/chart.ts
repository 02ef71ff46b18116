// Describes an XState machine as a tree of states and transitions, for diagrams.

import type { Chart, ChartTransition } from "../logic.js";
import { pathOf } from "./marked-machine.js";
import type { AnyStateMachine } from "./xstate.js";

type Node = AnyStateMachine["root"];

interface Transition {
  readonly eventType: string;
  readonly target?: readonly { readonly path: readonly string[] }[] | undefined;
  readonly guard?: unknown;
  readonly delay?: unknown;
}

export function targetsOf(transitions: readonly Transition[]): string[] {
  return transitions.flatMap(({ target }) => (target ?? []).map(pathOf));
}

export function chartOf(node: Node): Chart {
  const all = [...node.transitions.values()].flat() as Transition[];
  const always = (node.always ?? []) as Transition[];
  const initial = node.type === "compound" ? node.initial.target?.[0] : undefined;
  return {
    path: pathOf(node),
    key: node.key,
    type: node.type,
    initial: initial ? pathOf(initial) : null,
    states: Object.values(node.states).map((child) => chartOf(child as Node)),
    transitions: [...all.map(transitionOf), ...always.map((one) => ({ ...transitionOf(one), event: null }))],
  };
}

function transitionOf({ eventType, target, guard, delay }: Transition): ChartTransition {
  return {
    event: delay === undefined ? eventType : null,
    delay: delay === undefined ? null : String(delay),
    guard: nameOf(guard),
    to: (target ?? []).map(pathOf),
  };
}

function nameOf(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === "string") return guard;
  const { type, name } = guard as { readonly type?: string; readonly name?: string };
  return type ?? (name || "guard");
}
