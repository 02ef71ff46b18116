// A state chart: compound states as frames, active states filled, pending timers on their arrows.

import { isActive } from "../draw/chart.js";
import type { PlacedArrow } from "../draw/layout.js";
import type { MachineShape } from "../draw/shape.js";
import { countdown } from "../draw/words.js";
import { ticking } from "../live/clock.js";
import type { TimerRow } from "../live/model.js";
import { Loading } from "../part/panel.js";
import { Canvas } from "./canvas.js";
import { useChart } from "./layout.js";

interface MachineProps {
  readonly shape: MachineShape;
  readonly active: readonly string[];
  readonly timers: readonly TimerRow[];
}

export default function MachineChart({ shape, active, timers }: MachineProps) {
  const chart = useChart(shape.root);
  const at = ticking();
  if (chart === null) return <Loading />;
  const dueOf = ({ label = "", from }: PlacedArrow) => {
    const timer = timers.find(({ name }) => label.split(", ").some((event) => name.startsWith(event)));
    return timer !== undefined && isActive(from, active) ? ` in ${countdown(Date.parse(timer.dueAt) - at)}` : "";
  };
  const compound = chart.boxes.filter((box) => box.compound);
  return (
    <Canvas
      width={chart.width}
      height={chart.height}
      label={`States; active: ${active.join(", ") || "none"}`}
      arrows={chart.arrows}
      arrowClass={({ from }) => (isActive(from, active) ? "is-taken" : "")}
      arrowText={(arrow) => `${arrow.label ?? ""}${dueOf(arrow)}`}
      behind={compound.map(({ id, name, x, y, width, height }) => (
        <g
          key={id}
          class={`box frame-box ${isActive(id, active) ? "is-active" : ""}`}
          transform={`translate(${x} ${y})`}
        >
          <rect width={width} height={height} rx={9} />
          <text x={12} y={18} class="box-name">
            {name}
          </text>
        </g>
      ))}
    >
      {chart.boxes
        .filter((box) => !box.compound)
        .map(({ id, name, final, initial, x, y, width, height }) => (
          <g
            key={id}
            class={`box state-box ${isActive(id, active) ? "is-active" : ""}`}
            transform={`translate(${x} ${y})`}
          >
            <rect width={width} height={height} rx={9} />
            {final && <rect x={3} y={3} width={width - 6} height={height - 6} rx={6} />}
            {initial && <circle class="initial" cx={-7} cy={height / 2} r={4} />}
            <text x={width / 2} y={height / 2 + 4} text-anchor="middle" class="box-name">
              {name}
            </text>
          </g>
        ))}
    </Canvas>
  );
}
