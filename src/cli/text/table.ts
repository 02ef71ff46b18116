// Aligned tables that fit a width: empty columns are omitted, the widest flexible column is cut first, then the last ones go.

import { displayWidth } from "../library/text.js";
import { cutTo } from "./cut.js";
import type { Colour, Paint } from "./paint.js";
import { visible } from "./visible.js";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** May be cut when the table is too wide. */
  readonly flexible?: boolean;
  /** Stays in the narrowest window, whole. */
  readonly stays?: boolean;
}

export type Cell = string | { readonly text: string; readonly colour?: Colour | undefined };

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

const GAP = "  ";
const NARROWEST = 8;
/** Columns are left out before a flexible one is cut below this. */
const READABLE = 16;

/** The header, then one line per row. */
export function tableLines({ columns, rows }: Table, width: number, paint: Paint): string[] {
  const cells = rows.map((row) => row.map(cellOf));
  const filled = columns.map((_, i) => i).filter((i) => cells.some((row) => row[i]!.text !== ""));
  const wanted = filled.map((i) => ({
    place: i,
    width: Math.max(...[columns[i]!.title, ...cells.map((row) => row[i]!.text)].map((text) => displayWidth(text))),
    flexible: columns[i]!.flexible ?? false,
    stays: columns[i]!.stays ?? false,
  }));
  const shown = fitted(roomFor(wanted, width), width);
  const header = columns.map(({ title }) => ({ text: title, colour: "dim" as const }));
  return [header, ...cells].map((row) =>
    shown
      .map(({ place, width: own }, at) => {
        const isLast = at === shown.length - 1;
        const side = columns[place]!.align === "right" ? "left" : isLast ? null : "right";
        return padded(row[place]!, own, side, paint);
      })
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * A list for people: each field of the records is a column under its name. Numbers are aligned right, and the columns
 * in `cut` may be shortened. Those in `keep` are never left out.
 */
export function listText(
  records: readonly Readonly<Record<string, Cell | number>>[],
  cut: readonly string[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
  keep: readonly string[] = [],
): string {
  const columns = Object.entries(records[0] ?? {}).map(([title, value]): Column => {
    const [flexible, stays] = [cut.includes(title), keep.includes(title)];
    return { title, flexible, stays, ...(typeof value === "number" && { align: "right" }) };
  });
  const rows = records.map((record) =>
    Object.values(record).map((cell) => (typeof cell === "number" ? String(cell) : cell)),
  );
  return `${tableLines({ columns, rows }, width, paint).join("\n")}\n`;
}

interface Wanted {
  readonly place: number;
  readonly width: number;
  readonly flexible: boolean;
  readonly stays: boolean;
}

/** In a narrow window the last columns are left out that cannot be cut; the first and the flexible ones stay. */
function roomFor(wanted: readonly Wanted[], width: number): readonly Wanted[] {
  const least = wanted.reduce(
    (sum, { width: own, flexible }) => sum + GAP.length + (flexible ? Math.min(own, READABLE) : own),
    -GAP.length,
  );
  const last = wanted.findLastIndex(({ flexible, stays }, i) => i > 0 && !flexible && !stays);
  return least <= width || last < 0 ? wanted : roomFor(wanted.toSpliced(last, 1), width);
}

/** Cuts the widest flexible column until all fit, and the first one as a last resort. */
function fitted(wanted: readonly Wanted[], width: number): readonly Wanted[] {
  const gaps = GAP.length * Math.max(wanted.length - 1, 0);
  const all = wanted.map((one) => ({ ...one }));
  for (let over = all.reduce((sum, one) => sum + one.width, gaps) - width; over > 0; over--) {
    const cut = all.filter((one) => one.flexible && one.width > NARROWEST);
    const [first, ...rest] = cut.length > 0 ? cut : all;
    const widest = rest.reduce((a, b) => (b.width >= a.width ? b : a), first!);
    if (widest.width <= 1) break;
    widest.width--;
  }
  return all;
}

function cellOf(cell: Cell): { text: string; colour?: Colour | undefined } {
  return typeof cell === "string" ? { text: visible(cell) } : { text: visible(cell.text), colour: cell.colour };
}

/** `side`: where the spaces go; null: nowhere, at the end of a line. */
function padded(cell: ReturnType<typeof cellOf>, width: number, side: "left" | "right" | null, paint: Paint): string {
  const text = cutTo(cell.text, width);
  const space = " ".repeat(Math.max(width - displayWidth(text), 0));
  const painted = paint(text, cell.colour);
  if (side === null) return painted;
  return side === "left" ? space + painted : painted + space;
}
