// Boxes of the owner lane and of the timeline's rows: spans of time to rectangles, with a label where it fits.

import type { Mark, OwnerLane, Segment } from "./owner-lane.js";
import { type TimeAxis, xOf } from "./time-axis.js";
import type { Bar, BarKind, Row } from "./timeline.js";
import { duration } from "./words.js";

export interface LaneBox {
  readonly segment: Segment;
  readonly x: number;
  readonly width: number;
  /** Null where it does not fit. */
  readonly label: string | null;
  readonly labelX: number;
}

export interface LaneMark {
  readonly mark: Mark;
  readonly x: number;
}

/** Narrower boxes cannot be seen or pressed. */
const NARROWEST = 3;
const CHARACTER = 6.6;
/** Names of owners are bold. */
const BOLD = 7.4;
/** A mark at the beginning of a box covers so much of it. */
const MARK = 6;
const PADDING = 12;

export function laneBoxes(
  lane: OwnerLane,
  axis: TimeAxis,
): { readonly boxes: readonly LaneBox[]; readonly marks: readonly LaneMark[] } {
  const seen = lane.segments.filter(({ from, to }) => to >= axis.from && from <= axis.to);
  const marks = lane.marks
    .filter(({ at }) => at >= axis.from && at <= axis.to)
    .map((mark) => ({ mark, x: xOf(axis, mark.at) }));
  const boxes = seen.map((segment) => {
    const x = xOf(axis, segment.from);
    const width = Math.max(Math.round((xOf(axis, segment.to) - x) * 10) / 10, NARROWEST);
    const indent = marks.some((mark) => Math.abs(mark.x - x) < 2) ? MARK : 0;
    const label = labelOf(segment, width - indent);
    return { segment, x, width, label, labelX: Math.round((x + PADDING / 2 + 1 + indent) * 10) / 10 };
  });
  return { boxes, marks };
}

/** Where the words have no room: the beginning of a name, the time of a gap, or else the first word. */
function labelOf({ kind, label, from, to }: Segment, width: number): string | null {
  const most = Math.floor((width - PADDING) / (kind === "held" || kind === "gap" ? BOLD : CHARACTER));
  if (label.length <= most) return label;
  if (kind === "held") return most >= 6 ? `${label.slice(0, most - 1)}…` : null;
  const short = kind === "gap" ? duration(to - from) : label.split(/ · |, | (?=\d)/)[0]!;
  return short.length <= most ? short : null;
}

export interface BarBox {
  readonly bar: Bar;
  readonly row: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** How long it took, written after the bar. */
  readonly text: string | null;
  /** The text is in front of the bar, which ends too far at the right. */
  readonly isBefore: boolean;
}

export const ROW_HEIGHT = 26;

const TEXTS: Readonly<Record<BarKind, (ms: number) => string | null>> = {
  done: (ms) => duration(ms),
  failed: (ms) => (ms === 0 ? "failed" : `failed after ${duration(ms)}`),
  tried: () => "tried",
  cut: () => "cut off",
  wait: (ms) => duration(ms),
  now: (ms) => `${duration(ms)} so far`,
  event: () => null,
};

/** A bar whose begin is not known says how long it took at most. */
function textOf({ kind, from, to, upTo }: Bar): string | null {
  const text = TEXTS[kind](to - from);
  if (!upTo || text === null) return text;
  return kind === "done" ? `≤ ${text}` : text.replace("failed after", "failed within");
}

export function barBoxes(rows: readonly Row[], axis: TimeAxis): readonly BarBox[] {
  return rows.flatMap(({ bars, fold }, row) => {
    const last = bars.at(-1);
    const taken = bars.length > 1 ? xOf(axis, bars.at(-2)!.to) : 0;
    return bars
      .filter(({ from, to }) => to >= axis.from && from <= axis.to)
      .map((bar) => {
        const x = xOf(axis, bar.from);
        const width = Math.max(Math.round((xOf(axis, bar.to) - x) * 10) / 10, NARROWEST);
        const words = bar === last && fold === null ? textOf(bar) : null;
        const room = words === null ? 0 : words.length * CHARACTER + 8;
        const isBefore = x + width + room >= axis.width;
        const fits = !isBefore || x - room > taken;
        return { bar, row, x, y: row * ROW_HEIGHT, width, text: fits ? words : null, isBefore };
      });
  });
}
