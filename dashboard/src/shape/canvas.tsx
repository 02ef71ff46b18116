// A drawing of boxes and arrows that scrolls in its panel.

import type { ComponentChildren } from "preact";
import { arrowPath, type PlacedArrow } from "../draw/layout.js";

interface CanvasProps {
  readonly width: number;
  readonly height: number;
  readonly label: string;
  readonly arrows: readonly PlacedArrow[];
  readonly arrowClass?: (arrow: PlacedArrow) => string;
  readonly arrowText?: (arrow: PlacedArrow) => string | null;
  readonly children: ComponentChildren;
  /** Behind the arrows: compound states. */
  readonly behind?: ComponentChildren;
}

const MARGIN = 14;
/** A wider drawing is made smaller up to this, and then scrolls. */
const SMALLEST = 0.7;

export function Canvas({ width, height, label, arrows, arrowClass, arrowText, children, behind }: CanvasProps) {
  const [w, h] = [Math.ceil(width) + 2 * MARGIN, Math.ceil(height) + 2 * MARGIN];
  return (
    <div class="canvas" tabIndex={0} role="group" aria-label={`${label}; a list follows`}>
      <svg
        class="drawing"
        width={w}
        height={h}
        style={{ maxWidth: "100%", minWidth: `${Math.min(w, Math.max(w * SMALLEST, 280))}px`, height: "auto" }}
        viewBox={`${-MARGIN} ${-MARGIN} ${w} ${h}`}
        role="group"
        aria-label={label}
      >
        <defs>
          <marker
            id="tip"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="10"
            markerHeight="10"
            orient="auto-start-reverse"
            markerUnits="userSpaceOnUse"
          >
            <path d="M0 0 8 4 0 8z" class="tip" />
          </marker>
        </defs>
        {behind}
        {arrows.map((arrow, i) => (
          <g key={i} class={`arrow ${arrowClass?.(arrow) ?? ""}`}>
            <path d={arrowPath(arrow.points)} marker-end="url(#tip)" />
            <ArrowText arrow={arrow} text={arrowText?.(arrow) ?? null} />
          </g>
        ))}
        {children}
      </svg>
    </div>
  );
}

function ArrowText({ arrow, text }: { readonly arrow: PlacedArrow; readonly text: string | null }) {
  const middle = arrow.points[Math.floor(arrow.points.length / 2)];
  if (text === null || middle === undefined) return null;
  return (
    <text x={middle.x} y={middle.y + 4} text-anchor="middle">
      {text}
    </text>
  );
}
