// Aligned tables that fit a width: empty columns are omitted, and the widest flexible column is cut first.

import type { Colour, Paint } from "./paint.js";
import { visible } from "./visible.js";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** May be cut when the table is too wide. */
  readonly flexible?: boolean;
}

export type Cell = string | { readonly text: string; readonly colour?: Colour | undefined };

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

const GAP = "  ";
const NARROWEST = 8;

/** The header, then one line per row. */
export function tableLines({ columns, rows }: Table, width: number, paint: Paint): string[] {
  const cells = rows.map((row) => row.map(cellOf));
  const shown = columns.map((_, i) => i).filter((i) => cells.some((row) => row[i]!.text !== ""));
  const widths = fitted(
    shown.map((i) => ({
      width: Math.max(textWidth(columns[i]!.title), ...cells.map((row) => textWidth(row[i]!.text))),
      flexible: columns[i]!.flexible ?? false,
    })),
    width,
  );
  const header = columns.map(({ title }) => ({ text: title, colour: "dim" as const }));
  return [header, ...cells].map((row) =>
    shown
      .map((i, place) => {
        const isLast = place === shown.length - 1;
        const side = columns[i]!.align === "right" ? "left" : isLast ? null : "right";
        return padded(row[i]!, widths[place]!, side, paint);
      })
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * A list for people: each field of the records is a column under its name. Numbers are aligned right, and the columns
 * in `cut` may be shortened.
 */
export function listText(
  records: readonly Readonly<Record<string, Cell | number>>[],
  cut: readonly string[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string {
  const columns = Object.entries(records[0] ?? {}).map(([title, value]): Column => {
    return { title, flexible: cut.includes(title), ...(typeof value === "number" && { align: "right" }) };
  });
  const rows = records.map((record) =>
    Object.values(record).map((cell) => (typeof cell === "number" ? String(cell) : cell)),
  );
  return `${tableLines({ columns, rows }, width, paint).join("\n")}\n`;
}

function fitted(wanted: readonly { readonly width: number; readonly flexible: boolean }[], width: number): number[] {
  const widths = wanted.map(({ width: own }) => own);
  const gaps = GAP.length * Math.max(wanted.length - 1, 0);
  for (let over = widths.reduce((sum, w) => sum + w, gaps) - width; over > 0; over--) {
    let widest = -1;
    wanted.forEach(({ flexible }, i) => {
      if (flexible && widths[i]! > NARROWEST && (widest < 0 || widths[i]! >= widths[widest]!)) widest = i;
    });
    if (widest < 0) break;
    widths[widest]!--;
  }
  return widths;
}

function cellOf(cell: Cell): { text: string; colour?: Colour | undefined } {
  return typeof cell === "string" ? { text: visible(cell) } : { text: visible(cell.text), colour: cell.colour };
}

/** `side`: where the spaces go; null: nowhere, at the end of a line. */
function padded(cell: ReturnType<typeof cellOf>, width: number, side: "left" | "right" | null, paint: Paint): string {
  const text = cutToWidth(cell.text, width);
  const space = " ".repeat(Math.max(width - textWidth(text), 0));
  const painted = paint(text, cell.colour);
  if (side === null) return painted;
  return side === "left" ? space + painted : painted + space;
}

const ZERO = /^\p{M}$/u;
/** East Asian wide characters and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let left = width - 1;
  let kept = "";
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

function characterWidth(character: string): number {
  if (character <= "~") return 1;
  if (ZERO.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
