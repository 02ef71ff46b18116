// A DAG: its tasks as declared with their live state, fan-outs as one box with a meter, and a bar for each task below.

import { useRef } from "preact/hooks";
import { ownerStripe } from "../draw/owner-stripe.js";
import { type DagShape, levelsOf } from "../draw/shape.js";
import { ticksOf, timeAxis, xOf } from "../draw/time-axis.js";
import { duration } from "../draw/words.js";
import { ticking } from "../live/clock.js";
import type { RunRow, TaskRow } from "../live/model.js";
import { href } from "../live/router.js";
import { Loading } from "../part/panel.js";
import { State } from "../part/state.js";
import { useWidth } from "../part/use-width.js";
import { Canvas } from "./canvas.js";
import { useLayout } from "./layout.js";

export interface DagProps {
  readonly shape: DagShape;
  readonly tasks: readonly TaskRow[];
}

export function Dag({ shape, tasks }: DagProps) {
  const runs = new Map(tasks.map(({ name, run }) => [name, run]));
  const graph = {
    boxes: shape.tasks.map(({ name, each }) => {
      const width = Math.max(110, name.length * 7.6 + 30, noteOf(runs.get(name), each === true).length * 6.3 + 28);
      return { id: name, width: Math.ceil(width / 10) * 10, height: 48 };
    }),
    arrows: shape.tasks.flatMap(({ name, needs }) => needs.map((need) => ({ from: need, to: name }))),
    direction: "LR" as const,
  };
  const laid = useLayout(graph, null, levelsOf(shape.tasks));
  if (laid === null) return <Loading />;
  const each = new Set(shape.tasks.filter((task) => task.each).map(({ name }) => name));
  return (
    <Canvas
      width={laid.width}
      height={laid.height}
      label={`${shape.tasks.length} tasks`}
      arrows={laid.arrows}
      arrowClass={({ from }) => (runs.get(from)?.state === "completed" ? "is-taken" : "")}
    >
      {laid.boxes.map(({ id, x, y, width, height }) => (
        <TaskBox key={id} name={id} run={runs.get(id)} each={each.has(id)} place={{ x, y, width, height }} />
      ))}
    </Canvas>
  );
}

interface TaskBoxProps {
  readonly name: string;
  /** Null: not started. Undefined: there is no run, only the declared shape. */
  readonly run: RunRow | null | undefined;
  readonly each: boolean;
  readonly place: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

function TaskBox({ name, run, each, place: { x, y, width, height } }: TaskBoxProps) {
  const drawn = (
    <g class={`box state-box is-${run?.state ?? "blocked"}`} transform={`translate(${x} ${y})`}>
      {each && <rect x={4} y={-4} width={width} height={height} rx={7} />}
      <rect width={width} height={height} rx={7} />
      {run?.ownerName && (
        <rect class={`owner-edge own-${ownerStripe(run.ownerName)}`} width={5} height={height} rx={2} />
      )}
      <text x={14} y={20} class="box-name">
        {name}
      </text>
      <text x={14} y={37} class="box-note">
        {noteOf(run, each)}
      </text>
    </g>
  );
  return !run ? drawn : <a href={href(`/runs/${run.id}`)}>{drawn}</a>;
}

function noteOf(run: RunRow | null | undefined, each: boolean): string {
  if (run === undefined) return each ? "for each item" : "task";
  if (run === null) return "not started";
  if (each && run.pending > 0) return `${run.pending} left`;
  if (run.state === "blocked") return `waits for ${run.pending}`;
  return `${run.state}${run.recoveries > 0 ? ", reclaimed" : ""}${run.ownerName ? ` · ${run.ownerName}` : ""}`;
}

/** When its needs had ended: before that it only waited. */
function readyAt(run: RunRow, needs: readonly string[], runs: ReadonlyMap<string, RunRow | null>): number {
  const ends = needs.flatMap((need) => runs.get(need)?.endedAt ?? []).map((end) => Date.parse(end));
  return Math.max(Date.parse(run.createdAt), ...ends);
}

/** One row per task: its state, and a bar over time. */
export function Gantt({ shape, tasks }: DagProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 500) - 12;
  const at = ticking();
  const runs = new Map(tasks.map(({ name, run }) => [name, run]));
  const known = [...runs.values()].filter((run) => run !== null);
  const spans = known.flatMap((run) => [
    Date.parse(run.createdAt),
    run.endedAt === null ? at : Date.parse(run.endedAt),
  ]);
  const axis = timeAxis(spans, Math.max(width, 60));
  return (
    <div class="gantt">
      <div class="gantt-row gantt-axis" aria-hidden="true">
        <span />
        <span />
        <div ref={box}>
          <svg width="100%" height="18" aria-hidden="true">
            {ticksOf(axis).map(({ x, anchor, text }) => (
              <text key={x} x={x} y={13} text-anchor={anchor}>
                {text}
              </text>
            ))}
          </svg>
        </div>
      </div>
      {shape.tasks.map(({ name, needs }) => {
        const run = runs.get(name) ?? null;
        const from = run === null || run.state === "blocked" ? null : readyAt(run, needs, runs);
        const to = run?.endedAt ? Date.parse(run.endedAt) : at;
        return (
          <div key={name} class="gantt-row">
            <span class="cut" title={needs.length === 0 ? "needs nothing" : `needs ${needs.join(", ")}`}>
              {run === null ? name : <a href={href(`/runs/${run.id}`)}>{name}</a>}
            </span>
            <span>
              <State state={run?.state ?? "blocked"} warn={run?.noCapableNode ?? false} />
              {from !== null && <span class="gantt-took muted num"> {duration(to - from)}</span>}
            </span>
            <svg
              width="100%"
              height="22"
              role="img"
              aria-label={from === null ? `${name} has not begun` : `${name}: ${duration(to - from)}`}
            >
              {from !== null && (
                <rect
                  class={`gantt-bar is-${run?.state}`}
                  x={xOf(axis, from)}
                  y={5}
                  width={Math.max(3, xOf(axis, to) - xOf(axis, from))}
                  height={12}
                  rx={3}
                />
              )}
            </svg>
          </div>
        );
      })}
    </div>
  );
}
