// The declared shape of a program, as it is stored with the program: what a DAG, a graph or a machine looks like before it runs.

export interface DagShape {
  readonly kind: "dag";
  readonly tasks: readonly { readonly name: string; readonly needs: readonly string[]; readonly each?: boolean }[];
}

export interface GraphShape {
  readonly kind: "graph";
  readonly start: string;
  readonly nodes: readonly { readonly name: string; readonly kind: string }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly failed?: boolean }[];
}

export interface ChartState {
  readonly name: string;
  readonly initial?: string | null;
  readonly final?: boolean;
  readonly parallel?: boolean;
  readonly states?: readonly ChartState[];
  readonly on?: readonly { readonly event: string; readonly to: string }[];
}

export interface MachineShape {
  readonly kind: "machine";
  readonly root: ChartState;
}

export type Shape = DagShape | GraphShape | MachineShape;

/** Where the run has been, as a graph: used when the declared shape is not stored. */
export function visitedShape(
  visits: readonly { readonly position: string; readonly next: string | null }[],
): GraphShape {
  const nodeOf = (position: string) => position.split(":")[0] as string;
  const names = [
    ...new Set(visits.flatMap(({ position, next }) => [nodeOf(position), ...(next ? [nodeOf(next)] : [])])),
  ];
  const edges = visits.flatMap(({ position, next }) => (next ? [`${nodeOf(position)} ${nodeOf(next)}`] : []));
  return {
    kind: "graph",
    start: names[0] ?? "",
    nodes: names.map((name) => ({ name, kind: "function" })),
    edges: [...new Set(edges)].map((edge) => {
      const [from, to] = edge.split(" ") as [string, string];
      return { from, to };
    }),
  };
}

/** Tasks of one level need only tasks of earlier levels. Needs that form a cycle end on the last level. */
export function levelsOf(tasks: DagShape["tasks"]): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  for (let level = 0; levels.size < tasks.length && level <= tasks.length; level++) {
    const ready = tasks.filter(
      ({ name, needs }) => !levels.has(name) && needs.every((need) => (levels.get(need) ?? level) < level),
    );
    const placed = ready.length > 0 || level < tasks.length ? ready : tasks.filter(({ name }) => !levels.has(name));
    for (const { name } of placed) levels.set(name, level);
  }
  for (const { name } of tasks) if (!levels.has(name)) levels.set(name, tasks.length);
  return levels;
}
