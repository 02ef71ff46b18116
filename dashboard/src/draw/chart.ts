// A state chart as nested boxes. The children of a compound state are laid out first, as a graph of their own; the state is then one
// box in its parent's graph. dagre throws on an arrow to a compound node, so an arrow that crosses borders is lifted to siblings.

import type { Arrow, GraphToLay, Layout, PlacedBox } from "./layout.js";
import type { ChartState } from "./shape.js";

export interface ChartBox extends PlacedBox {
  readonly name: string;
  readonly compound: boolean;
  readonly final: boolean;
  readonly initial: boolean;
}

export interface Chart extends Omit<Layout, "boxes"> {
  readonly boxes: readonly ChartBox[];
}

const HEAD = 26;
const PAD = 16;

/** `pending` or `{ paid: "packing" }` as paths: `pending`, `paid.packing`. */
export function activeStates(value: unknown, prefix = ""): readonly string[] {
  if (typeof value === "string") return [prefix + value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const below = activeStates(inner, `${prefix}${name}.`);
    return below.length === 0 ? [prefix + name] : below;
  });
}

/** An active state makes its ancestors active. */
export function isActive(path: string, active: readonly string[]): boolean {
  return active.some((one) => one === path || one.startsWith(`${path}.`));
}

interface Transition extends Arrow {
  readonly label: string;
}

export function layChart(root: ChartState, lay: (graph: GraphToLay) => Layout): Chart {
  const paths = pathsOf(root, "");
  const transitions = transitionsOf(root, "", paths);
  return layLevel(root, "", { transitions, lay });
}

function pathsOf(state: ChartState, path: string): readonly string[] {
  return (state.states ?? []).flatMap((child) => {
    const own = join(path, child.name);
    return [own, ...pathsOf(child, own)];
  });
}

const join = (path: string, name: string) => (path === "" ? name : `${path}.${name}`);
const parentOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf(".")));

function transitionsOf(state: ChartState, path: string, paths: readonly string[]): readonly Transition[] {
  return (state.states ?? []).flatMap((child) => {
    const from = join(path, child.name);
    const own = (child.on ?? []).flatMap(({ event, to }) => {
      const target = resolve(to, from, paths);
      return target === null ? [] : [{ from, to: target, label: event }];
    });
    return [...own, ...transitionsOf(child, from, paths)];
  });
}

/** A sibling first, then what an ancestor sees. */
function resolve(name: string, from: string, paths: readonly string[]): string | null {
  for (let level = parentOf(from); ; level = parentOf(level)) {
    if (paths.includes(join(level, name))) return join(level, name);
    if (level === "") return paths.find((path) => path.endsWith(`.${name}`)) ?? null;
  }
}

interface Way {
  readonly transitions: readonly Transition[];
  readonly lay: (graph: GraphToLay) => Layout;
}

function layLevel(state: ChartState, path: string, way: Way): Chart {
  const children = (state.states ?? []).map((child) => {
    const own = join(path, child.name);
    const inner = (child.states ?? []).length > 0 ? layLevel(child, own, way) : null;
    const width = inner === null ? Math.max(90, child.name.length * 7.5 + 34) : inner.width + 2 * PAD;
    return { child, own, inner, width, height: inner === null ? 36 : inner.height + HEAD + PAD };
  });
  const placed = way.lay({
    boxes: children.map(({ own, width, height }) => ({ id: own, width, height })),
    arrows: lifted(way.transitions, path),
    direction: "LR",
  });
  const boxes = children.flatMap(({ child, own, inner }) => {
    const box = placed.boxes.find(({ id }) => id === own) as PlacedBox;
    const outer = {
      ...box,
      name: child.name,
      compound: inner !== null,
      final: child.final === true,
      initial: state.initial === child.name,
    };
    return [outer, ...(inner?.boxes ?? []).map((one) => ({ ...one, x: one.x + box.x + PAD, y: one.y + box.y + HEAD }))];
  });
  const inside = children.flatMap(({ own, inner }) => {
    const box = placed.boxes.find(({ id }) => id === own) as PlacedBox;
    return (inner?.arrows ?? []).map((arrow) => ({
      ...arrow,
      points: arrow.points.map(({ x, y }) => ({ x: x + box.x + PAD, y: y + box.y + HEAD })),
    }));
  });
  return { width: placed.width, height: placed.height, boxes, arrows: [...placed.arrows, ...inside] };
}

/** The transitions whose ends differ first at this level, between the children that hold them. */
function lifted(transitions: readonly Transition[], path: string): readonly Transition[] {
  const childOf = (state: string) => {
    if (path !== "" && !state.startsWith(`${path}.`)) return null;
    const [name] = state.slice(path === "" ? 0 : path.length + 1).split(".");
    return join(path, name as string);
  };
  const here = transitions.flatMap(({ from, to, label }) => {
    const [a, b] = [childOf(from), childOf(to)];
    const isHere = a !== null && b !== null && (a !== b || (from === to && from === a));
    return isHere ? [{ from: a, to: b, label }] : [];
  });
  const joined = new Map<string, Transition>();
  for (const one of here) {
    const id = `${one.from} ${one.to}`;
    const known = joined.get(id);
    joined.set(id, known ? { ...known, label: `${known.label}, ${one.label}` } : one);
  }
  return [...joined.values()];
}
