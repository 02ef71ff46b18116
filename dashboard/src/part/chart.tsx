// A chart over time with marks, drawn by uPlot in a box of fixed height; the same numbers as a table on demand.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { TimeMark } from "../draw/figures.js";
import { theme } from "../live/theme.js";
import { Instant } from "./time.js";
import { useWidth } from "./use-width.js";

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A token's name, such as `--accent`. */
  readonly colour: string;
  readonly fill?: boolean;
}

interface ChartProps {
  readonly title: string;
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  readonly marks: readonly TimeMark[];
  readonly unit: (value: number) => string;
}

const HEIGHT = 150;

export default function Chart({ title, at, lines, marks, unit }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 320);
  const [asTable, setAsTable] = useState(false);
  const dark = useDark();
  const shown = JSON.stringify([at.at(-1), at.length, marks.length]);
  useEffect(() => {
    if (box.current === null || asTable || at.length === 0) return undefined;
    const chart = new uPlot(
      optionsOf({ title, at, lines, marks, unit }, width),
      [[...at], ...lines.map(({ values }) => [...values])],
      box.current,
    );
    return () => chart.destroy();
  }, [width, shown, asTable, dark, theme.value]);
  return (
    <figure class="chart">
      <div ref={box} class="chart-box" role="img" aria-label={`${title} over time`} hidden={asTable} />
      {asTable && <ChartTable at={at} lines={lines} unit={unit} />}
      <div class="chart-foot">
        <button type="button" class="link chart-switch" onClick={() => setAsTable(!asTable)}>
          {asTable ? "as chart" : "as table"}
          <span class="sr"> {title}</span>
        </button>
        {lines.length > 1 && !asTable && <Legend lines={lines} />}
      </div>
    </figure>
  );
}

function Legend({ lines }: Pick<ChartProps, "lines">) {
  return (
    <span class="legend">
      {lines.map(({ label, colour }) => (
        <span key={label}>
          <i style={{ borderColor: `var(${colour})` }} />
          {label}
        </span>
      ))}
    </span>
  );
}

const token = (name: string) => resolved(getComputedStyle(document.documentElement).getPropertyValue(name));

/** A canvas does not know light-dark(): the browser resolves it on an element. */
function resolved(value: string): string {
  const probe = document.createElement("i");
  probe.style.color = value;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function optionsOf({ at, lines, marks, unit }: ChartProps, width: number): uPlot.Options {
  const muted = token("--muted");
  const span = (at.at(-1) ?? 0) - (at[0] ?? 0);
  const axis = {
    stroke: muted,
    grid: { stroke: token("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    padding: [6, 26, 0, 0],
    axes: [
      { ...axis, size: 24, space: 60, values: (_, splits) => splits.map((seconds) => timeText(seconds, span)) },
      { ...axis, size: 58, space: 34, values: (_, splits) => splits.map(unit) },
    ],
    scales: { y: { range: (_, _low, high) => [0, high > 0 ? high * 1.15 : 1] } },
    series: [
      {},
      ...lines.map(({ label, colour, fill }) => ({
        label,
        stroke: token(colour),
        width: 1.6,
        points: { show: false },
        ...(fill && { fill: `color-mix(in srgb, ${token(colour)} 14%, transparent)` }),
      })),
    ],
    hooks: {
      draw: [
        (chart) =>
          drawMarks(
            chart,
            marks.filter((mark) => mark.at >= (at[0] ?? 0)),
          ),
      ],
    },
  };
}

/** In UTC; the day where the chart covers several. */
function timeText(seconds: number, span: number): string {
  const iso = new Date(seconds * 1_000).toISOString();
  if (span > 2 * 86_400) return iso.slice(5, 10);
  return span < 600 ? iso.slice(11, 19) : iso.slice(11, 16);
}

function drawMarks(chart: uPlot, marks: readonly TimeMark[]): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  for (const { at, kind, text } of marks) {
    const x = Math.round(chart.valToPos(at, "x", true));
    ctx.strokeStyle = token(kind === "deploy" ? "--blue" : "--amber");
    ctx.fillStyle = ctx.strokeStyle;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (kind !== "deploy") continue;
    // On the side where there is room.
    const isRight = x > bbox.left + bbox.width / 2;
    ctx.textAlign = isRight ? "right" : "left";
    ctx.fillText(text, x + (isRight ? -4 : 4), bbox.top + 10 * devicePixelRatio);
  }
  ctx.restore();
}

function useDark(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const listen = () => setDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return dark;
}

function ChartTable({ at, lines, unit }: Pick<ChartProps, "at" | "lines" | "unit">) {
  const from = Math.max(0, at.length - 30);
  return (
    <div class="chart-table" tabIndex={0} role="group" aria-label="Figures">
      <table>
        <thead>
          <tr>
            <th>Time (UTC)</th>
            {lines.map(({ label }) => (
              <th key={label} class="right">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at.slice(from).map((seconds, i) => (
            <tr key={seconds}>
              <td>
                <Instant at={new Date(seconds * 1_000).toISOString()} />
              </td>
              {lines.map(({ label, values }) => {
                const value = values[from + i];
                return (
                  <td key={label} class="right num">
                    {value === null || value === undefined ? "–" : unit(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
