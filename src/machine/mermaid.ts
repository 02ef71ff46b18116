// Draws a machine as a Mermaid state diagram. User names appear only in labels, escaped once; ids are generated.

import { formatDuration } from "../kernel/duration.js";
import type { MermaidOptions } from "./definition.js";
import type { Chart, ChartTransition } from "./logic.js";
import { pathsOf } from "./rename-states.js";

/** Characters with a meaning in Mermaid, written as its entities: one pass, so that no escape is escaped again. */
const SPECIAL = /[#;:"<>{}[\]()%\\&`|\n\r\t-]/g;

export function escapeLabel(text: string): string {
  return text.replace(SPECIAL, (found) => (/\s/.test(found) ? " " : `#${found.charCodeAt(0)};`));
}

export function toMermaid(chart: Chart, { trace }: MermaidOptions = {}): string {
  const ids = new Map(allOf(chart).map(({ path }, i) => [path, `s${i}`]));
  const lines = ["stateDiagram-v2", ...bodyOf(chart, ids, 1)];
  if (trace) {
    const current = activeIn(trace.current);
    const visited = new Set(trace.visited.flatMap((value) => [...activeIn(value)]));
    lines.push("  classDef visited fill:#add8e6", "  classDef current fill:#90ee90");
    for (const { path } of allOf(chart)) {
      const look = current.has(path) ? "current" : visited.has(path) ? "visited" : null;
      if (look && path !== "") lines.push(`  class ${ids.get(path)} ${look}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function bodyOf(chart: Chart, ids: ReadonlyMap<string, string>, depth: number): string[] {
  const indent = "  ".repeat(depth);
  const parallel = chart.type === "parallel";
  const parts = chart.states.map((state) => [...stateLines(state, ids, depth)]);
  // Regions of a parallel state are drawn side by side.
  const states = parts.flatMap((lines, i) => (parallel && i > 0 ? [`${indent}--`, ...lines] : lines));
  const initial = chart.initial === null ? [] : [`${indent}[*] --> ${ids.get(chart.initial)}`];
  const own = chart.path === "" ? arrowsOf(chart, ids, indent) : [];
  return [...initial, ...states, ...own];
}

function* stateLines(state: Chart, ids: ReadonlyMap<string, string>, depth: number): Generator<string> {
  const indent = "  ".repeat(depth);
  const id = ids.get(state.path)!;
  yield `${indent}state "${escapeLabel(state.key)}" as ${id}`;
  if (state.states.length > 0) {
    yield `${indent}state ${id} {`;
    yield* bodyOf(state, ids, depth + 1);
    yield `${indent}}`;
  }
  yield* arrowsOf(state, ids, indent);
  if (state.type === "final") yield `${indent}${id} --> [*]`;
}

function arrowsOf(state: Chart, ids: ReadonlyMap<string, string>, indent: string): string[] {
  const from = ids.get(state.path)!;
  return state.transitions.flatMap((transition) => {
    const label = labelOf(transition);
    const targets = transition.to.length > 0 ? transition.to : [state.path];
    // A transition of the machine itself that stays in its state has no place to be drawn.
    if (state.path === "" && transition.to.length === 0) return [];
    return targets.map((to) => `${indent}${from} --> ${ids.get(to)}${label === "" ? "" : `: ${label}`}`);
  });
}

function labelOf({ event, delay, guard, to }: ChartTransition): string {
  const what = delay === null ? (event === null ? "always" : escapeLabel(event)) : `after ${shownDelay(delay)}`;
  const when = guard === null ? "" : ` #91;${escapeLabel(guard)}#93;`;
  return `${what}${when}${to.length === 0 ? " #40;stays#41;" : ""}`;
}

function shownDelay(delay: string): string {
  const ms = Number(delay);
  return Number.isNaN(ms) ? escapeLabel(delay) : formatDuration(ms);
}

function allOf(chart: Chart): Chart[] {
  return [chart, ...chart.states.flatMap(allOf)];
}

/** A state is active when one of its substates is. */
function activeIn(value: unknown): Set<string> {
  return new Set(pathsOf(value).flatMap((path) => path.split(".").map((_, i, keys) => keys.slice(0, i + 1).join("."))));
}
