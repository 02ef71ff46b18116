// The declared shape of a program, without a run.

import type { Shape } from "../draw/shape.js";
import { Panel } from "../part/panel.js";
import { Dag } from "./dag-shape.js";
import { GraphDrawing } from "./graph-shape.js";
import MachineChart from "./machine-shape.js";

export default function ProgramShape({ shape }: { readonly shape: Shape }) {
  return (
    <Panel title="Shape">
      {shape.kind === "dag" && <Dag shape={shape} tasks={[]} />}
      {shape.kind === "graph" && <GraphDrawing shape={shape} visits={[]} active={null} chosen={null} />}
      {shape.kind === "machine" && <MachineChart shape={shape} active={[]} timers={[]} />}
      <ShapeList shape={shape} />
    </Panel>
  );
}

/** The drawing as text. */
function ShapeList({ shape }: { readonly shape: Shape }) {
  const lines =
    shape.kind === "dag"
      ? shape.tasks.map(({ name, needs }) => `${name} needs ${needs.join(", ") || "nothing"}`)
      : shape.kind === "graph"
        ? shape.edges.map(({ from, to, failed }) => `${from} → ${to}${failed ? " when it fails" : ""}`)
        : (shape.root.states ?? []).flatMap(({ name, on = [] }) =>
            on.map(({ event, to }) => `${name} on ${event} → ${to}`),
          );
  return (
    <details class="panel-body">
      <summary>As a list</summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
