// What the pages show of programs because their code is here: kind and shape, as plain data.

import { type AnyActor, definitionsOf } from "../actor/actor.js";
import type { ProgramFacts } from "../admin/supervisor.js";
import type { AnyDag } from "../dag/dag-definition.js";
import type { GraphPlan } from "../graph/plan.js";
import { isMachine } from "../machine/definition.js";
import type { Chart } from "../machine/logic.js";
import type { AnyDefinition } from "../program/definition.js";

export function programFacts(programs: readonly (AnyDefinition | AnyActor)[]): Readonly<Record<string, ProgramFacts>> {
  return Object.fromEntries(definitionsOf(programs).map((one) => [one.name, { kind: one.kind, shape: shapeOf(one) }]));
}

function shapeOf(program: AnyDefinition): unknown {
  if (isMachine(program)) return { kind: "machine", root: stateOf(program.logic.chart) };
  if (program.kind === "dag") return dagShape(program as unknown as AnyDag);
  const { plan } = program as unknown as { readonly plan?: GraphPlan };
  return program.kind === "graph" && plan ? graphShape(plan) : null;
}

function dagShape({ order, tasks }: AnyDag): unknown {
  const nameOf = new Map(Object.entries(tasks).map(([name, task]) => [task, name]));
  const listed = order.map((name) => {
    const { needs, kind } = tasks[name]!;
    const names = Object.entries(needs).map(([key, task]) => nameOf.get(task) ?? key);
    return { name, needs: names, each: kind === "each" };
  });
  return { kind: "dag", tasks: listed };
}

function graphShape({ start, nodes, edges }: GraphPlan): unknown {
  const arrows = Object.entries(edges).flatMap(([from, { to, failed }]) => [
    ...to.map((one) => ({ from, to: one })),
    ...(failed === null ? [] : [{ from, to: failed, failed: true }]),
  ]);
  const named = Object.entries(nodes).map(([name, { kind }]) => ({ name, kind }));
  const ends = arrows.some(({ to }) => to === "end") ? [{ name: "end", kind: "end" }] : [];
  return { kind: "graph", start, nodes: [...named, ...ends], edges: arrows };
}

function stateOf({ key, type, initial, states, transitions }: Chart): unknown {
  const on = transitions.flatMap(({ event, delay, to }) =>
    to.map((one) => ({ event: event ?? (delay === null ? "always" : `after ${delay}`), to: one })),
  );
  return {
    name: key,
    initial: initial === null ? null : (initial.split(".").at(-1) ?? null),
    final: type === "final",
    parallel: type === "parallel",
    states: states.map(stateOf),
    on,
  };
}
