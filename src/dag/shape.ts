// The shape of a DAG, computed purely: whether it is acyclic, in which order its tasks can run, and its diagram.

import { DagInvalid } from "./error.js";
import type { TasksByName } from "./task.js";

/** Starting more in one commit gains nothing; a longer list belongs into `each`. */
export const MOST_TASKS = 500;

/** The tasks of a DAG in their order. */
export interface Shape {
  /** Each after everything it needs; otherwise in the order of the definition. */
  readonly order: readonly string[];
  /** Tasks of one level need only tasks of earlier levels. */
  readonly levels: readonly (readonly string[])[];
  /** Tasks that need no other. */
  readonly roots: readonly string[];
  /** Tasks that no other needs. */
  readonly leaves: readonly string[];
}

export function shapeOf(dag: string, tasks: TasksByName): Shape {
  const names = Object.keys(tasks);
  if (names.length === 0) throw new DagInvalid(dag, "it has no tasks. Give it at least one.");
  if (names.length > MOST_TASKS) {
    throw new DagInvalid(dag, `it has ${names.length} tasks, more than ${MOST_TASKS}. Use each() for lists.`);
  }
  checkNeeds(dag, tasks);
  const needs = new Map(names.map((name) => [name, Object.keys(tasks[name]!.needs)]));
  const levelOf = levelsOf(dag, needs);
  const deepest = Math.max(...levelOf.values());
  const levels = Array.from({ length: deepest + 1 }, (_, level) => names.filter((name) => levelOf.get(name) === level));
  const needed = new Set([...needs.values()].flat());
  return {
    order: levels.flat(),
    levels,
    roots: levels[0]!,
    leaves: names.filter((name) => !needed.has(name)),
  };
}

/** A need must be the task of that name in this DAG. */
function checkNeeds(dag: string, tasks: TasksByName): void {
  const seen = new Map<unknown, string>();
  for (const [key, task] of Object.entries(tasks)) {
    const name = JSON.stringify(key);
    if (task?.kind !== "task" && task?.kind !== "each")
      throw new DagInvalid(dag, `${name} is not a task. Create it with task() or each().`);
    const twin = seen.get(task);
    if (twin !== undefined) throw new DagInvalid(dag, `${twin} and ${name} are the same task. Define it twice.`);
    seen.set(task, name);
    for (const [need, needed] of Object.entries(task.needs)) {
      const other = JSON.stringify(need);
      if (!Object.hasOwn(tasks, need))
        throw new DagInvalid(dag, `${name} needs ${other}, which is not in the DAG. Add it.`);
      if (tasks[need] === needed) continue;
      const problem = `${name} needs a task other than the DAG's own ${other}. Use the same task in both places.`;
      throw new DagInvalid(dag, problem);
    }
  }
}

/** The longest path from a root. Each round must place a task; otherwise the remaining ones form a cycle. */
function levelsOf(dag: string, needs: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  while (levels.size < needs.size) {
    const ready = [...needs].filter(([name, of]) => !levels.has(name) && of.every((need) => levels.has(need)));
    if (ready.length === 0) throw new DagInvalid(dag, `its tasks form a cycle: ${cycleIn(needs, levels)}.`);
    for (const [name, of] of ready) levels.set(name, Math.max(-1, ...of.map((need) => levels.get(need)!)) + 1);
  }
  return levels;
}

function cycleIn(needs: ReadonlyMap<string, readonly string[]>, placed: ReadonlyMap<string, number>): string {
  const path = [[...needs.keys()].find((name) => !placed.has(name))!];
  for (;;) {
    const next = needs.get(path.at(-1)!)!.find((need) => !placed.has(need))!;
    const at = path.indexOf(next);
    if (at !== -1) return [...path.slice(at), next].join(" → ");
    path.push(next);
  }
}

/** As a flow chart for Markdown. */
export function toMermaid(tasks: TasksByName): string {
  const names = Object.keys(tasks);
  const id = (name: string) => `t${names.indexOf(name)}`;
  const boxes = names.map((name) => (tasks[name]!.each ? `  ${id(name)}[["${name}"]]` : `  ${id(name)}["${name}"]`));
  const arrows = names.flatMap((name) =>
    Object.keys(tasks[name]!.needs).map((need) => `  ${id(need)} ${tasks[name]!.when ? "-.->" : "-->"} ${id(name)}`),
  );
  return ["flowchart TD", ...boxes, ...arrows].join("\n");
}

/** As it is stored and drawn. */
export function drawnDag(order: readonly string[], tasks: TasksByName): object {
  const listed = order.map((name) => {
    const { needs, kind } = tasks[name]!;
    return { name, needs: Object.keys(needs), each: kind === "each" };
  });
  return { kind: "dag", tasks: listed };
}
