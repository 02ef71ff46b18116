// Owner lane and timeline of a run on one time axis: names at the left, drawing at the right, the chosen bar in words.

import { useRef, useState } from "preact/hooks";
import { barBoxes, laneBoxes, ROW_HEIGHT } from "../draw/boxes.js";
import { doing } from "../draw/doing.js";
import { type OwnerLane, ownerLane } from "../draw/owner-lane.js";
import { type TimeAxis, ticksOf, timeAxis, xOf } from "../draw/time-axis.js";
import { type Bar, type Row, timelineRows } from "../draw/timeline.js";
import { clockTime, plural } from "../draw/words.js";
import { ticking } from "../live/clock.js";
import type { Claim, Entry, RunRow } from "../live/model.js";
import { here } from "../live/router.js";
import { useWidth } from "./use-width.js";

interface TimelineProps {
  readonly run: RunRow;
  readonly claims: readonly Claim[];
  readonly entries: readonly Entry[];
  readonly childEnds: ReadonlyMap<string, number>;
  readonly range: "all" | "claim";
  readonly hideDone: boolean;
  readonly chosen: number | null;
}

const LANE_HEIGHT = 30;
const AXIS_HEIGHT = 24;

/** The owner lane, up to the end of the run or to now. */
function laneOf(run: RunRow, claims: readonly Claim[]) {
  const ended = run.endedAt === null ? null : Date.parse(run.endedAt);
  const at = ended ?? ticking();
  const lane = ownerLane({
    claims,
    createdAt: Date.parse(run.createdAt),
    endedAt: ended,
    now: at,
    waiting: doing(run, at),
  });
  return { at, lane };
}

export function Timeline({ run, claims, entries, childEnds, range, hideDone, chosen }: TimelineProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { at, lane } = laneOf(run, claims);
  const all = timelineRows({ entries, claims, now: at, running: run.state === "running", childEnds });
  const rows = hideDone ? all.filter(({ bars }) => bars.some(({ kind }) => kind !== "done" && kind !== "event")) : all;
  const axis = axisOf(lane, rows, range, Math.max(width - 10, 400));
  return (
    <div class="timeline">
      <div class="timeline-names">
        <div class="timeline-corner">UTC</div>
        <div class="lane-name">owner</div>
        {rows.map((row) => (
          <RowName key={row.id} row={row} />
        ))}
      </div>
      <div class="timeline-plot" ref={box} tabIndex={0} role="group" aria-label="Timeline; the journal lists the same">
        <Drawing lane={lane} rows={rows} axis={axis} isLive={run.endedAt === null} now={at} chosen={chosen} />
      </div>
    </div>
  );
}

function axisOf(lane: OwnerLane, rows: readonly Row[], range: "all" | "claim", width: number): TimeAxis {
  const spans = [...lane.segments, ...rows.flatMap(({ bars }) => bars)];
  const axis = timeAxis(
    spans.flatMap(({ from, to }) => [from, to]),
    width,
  );
  const last = lane.segments.findLast(({ kind }) => kind === "held");
  if (range === "all" || last === undefined) return axis;
  return timeAxis([last.from, last.to], width);
}

/** A step and an approval may have one name. */
const NAMED_KINDS: readonly string[] = ["sleep", "signal", "approval", "child", "task"];

function RowName({ row }: { readonly row: Row }) {
  return (
    <div class="row-name" title={`${row.kind} ${row.label}`}>
      <span class="cut">
        {row.label}
        {NAMED_KINDS.includes(row.kind) && <span class="muted"> · {row.kind}</span>}
      </span>
      {row.fold !== null && (
        <span class="muted num">
          ×{row.fold.calls}, {row.fold.done} done{row.fold.failed > 0 ? `, ${row.fold.failed} failed` : ""}
        </span>
      )}
    </div>
  );
}

interface DrawingProps {
  readonly lane: OwnerLane;
  readonly rows: readonly Row[];
  readonly axis: TimeAxis;
  readonly isLive: boolean;
  readonly now: number;
  readonly chosen: number | null;
}

function Drawing({ lane, rows, axis, isLive, now, chosen }: DrawingProps) {
  const height = AXIS_HEIGHT + LANE_HEIGHT + 8 + rows.length * ROW_HEIGHT + 8;
  const width = axis.width + 10;
  return (
    <svg
      class="drawing"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="group"
      aria-label={laneSentence(lane)}
    >
      <defs>
        <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="7" height="7" class="hatch-ground" />
          <rect width="3" height="7" class="hatch-line" />
        </pattern>
      </defs>
      <g class="axis">
        {ticksOf(axis).map(({ x, anchor, text }) => (
          <g key={x}>
            <line x1={x} x2={x} y1={AXIS_HEIGHT - 4} y2={height} />
            <text x={anchor === "end" ? x - 3 : x + 3} y={14} text-anchor={anchor}>
              {text}
            </text>
          </g>
        ))}
      </g>
      <Lane lane={lane} axis={axis} />
      <g transform={`translate(0 ${AXIS_HEIGHT + LANE_HEIGHT + 8})`}>
        <Bars rows={rows} axis={axis} chosen={chosen} />
      </g>
      {isLive && <line class="now-line" x1={xOf(axis, now)} x2={xOf(axis, now)} y1={AXIS_HEIGHT} y2={height} />}
    </svg>
  );
}

function Lane({ lane, axis }: { readonly lane: OwnerLane; readonly axis: TimeAxis }) {
  const { boxes, marks } = laneBoxes(lane, axis);
  return (
    <g transform={`translate(0 ${AXIS_HEIGHT})`}>
      {boxes.map(({ segment, x, width, label, labelX }) => (
        <g
          key={`${segment.kind} ${segment.from}`}
          class={`lane-box is-${segment.kind} ${segment.stripe === null ? "" : `own-${segment.stripe}`}`}
        >
          <title>{segment.text}</title>
          <rect x={x} y={2} width={width} height={22} rx={4} />
          {label !== null && (
            <text x={labelX} y={17}>
              {label}
            </text>
          )}
        </g>
      ))}
      {marks.map(({ mark, x }) => (
        <g key={`${mark.kind} ${mark.epoch}`} class={`lane-mark is-${mark.kind}`} transform={`translate(${x} 13)`}>
          <title>{mark.text}</title>
          <circle r={8} />
          <path d={mark.kind === "lost" ? "M-3 -3 3 3M3 -3-3 3" : "M-3.500 0H3.500M-3.500 -3V3"} />
        </g>
      ))}
    </g>
  );
}

function Bars({
  rows,
  axis,
  chosen,
}: {
  readonly rows: readonly Row[];
  readonly axis: TimeAxis;
  readonly chosen: number | null;
}) {
  return (
    <>
      {barBoxes(rows, axis).map(({ bar, x, y, width, text, isBefore }, i) => (
        <a
          key={i}
          class={`bar is-${bar.kind} ${bar.upTo ? "is-up-to" : ""} ${bar.seq !== null && bar.seq === chosen ? "is-chosen" : ""}`}
          href={here({ at: bar.seq === null ? null : String(bar.seq) })}
          tabIndex={-1}
        >
          <title>{barSentence(bar)}</title>
          {bar.kind === "event" ? (
            <path d={`M${x} ${y + 7}l5 6-5 6-5-6z`} />
          ) : (
            <rect x={x} y={y + 7} width={width} height={12} rx={3} />
          )}
          {bar.kind === "cut" && <path class="cut-end" d={`M${x + width - 4} ${y + 9}l8 8m0-8-8 8`} />}
          {text !== null && (
            <text x={isBefore ? x - 7 : x + width + 7} y={y + 17} text-anchor={isBefore ? "end" : "start"}>
              {text}
            </text>
          )}
        </a>
      ))}
    </>
  );
}

function barSentence({ kind, from, to, epoch, upTo }: Bar): string {
  return `${kind}, ${upTo ? "begun after " : ""}${clockTime(from, { fraction: true })} to ${clockTime(to, { fraction: true })}, claim ${epoch}`;
}

function laneSentence({ segments, marks }: OwnerLane): string {
  const held = segments.filter(({ kind }) => kind === "held").length;
  return `Owner lane: ${plural(held, "claim")}, ${plural(marks.length, "incident")}. ${segments.map(({ text }) => text).join(". ")}.`;
}

/** What happened between owners, one line each: the lane for those who read. */
export function LaneStory({ run, claims }: { readonly run: RunRow; readonly claims: readonly Claim[] }) {
  const [open, setOpen] = useState(false);
  const { lane } = laneOf(run, claims);
  if (lane.segments.length === 0) return null;
  return (
    <div class="lane-story">
      {lane.marks.map(({ kind, epoch, text }) => (
        <p key={`${kind} ${epoch}`} class={`story is-${kind}`}>
          <span aria-hidden="true">{kind === "lost" ? "✕" : "⊣"}</span> {text}
        </p>
      ))}
      <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide the list" : "Owner lane as a list"}
      </button>
      {open && (
        <ol class="lane-list">
          {lane.segments.map((segment) => (
            <li key={segment.from}>
              <span class="num muted">{clockTime(segment.from, { fraction: true })}</span> {segment.text}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
