// A run's journal as a table: time, entry, claim, value or error.

import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { Colour, Paint } from "./paint.js";
import { payloadLine, wholePayload } from "./payload-text.js";
import { isReason, reasonLine, wholeReason } from "./reason-text.js";
import { type Cell, type Column, tableLines } from "./table.js";
import { clockTime } from "./time-ago.js";
import { visible } from "./visible.js";

export interface TimelineOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Whole values below the entries instead of one line next to them. */
  readonly payloads: boolean;
  /** The holder of the claim with this number, if known. */
  readonly holderOf: (epoch: number) => string | null;
}

const COLUMNS: readonly Column[] = [
  { title: "SEQ", align: "right" },
  { title: "TIME (UTC)" },
  { title: "KIND" },
  { title: "NAME", flexible: true },
  { title: "KEY", flexible: true },
  { title: "CLAIM", flexible: true },
];
const VALUE: Column = { title: "VALUE", flexible: true };
const INDENT = "       ";

export function timeline(entries: readonly JournalEntry[], options: TimelineOptions): string[] {
  const { width, paint, payloads } = options;
  const days = new Set(entries.map(({ at }) => Math.floor(at / 86_400_000)));
  const rows = entries.map((entry) => cellsOf(entry, days.size > 1, options));
  const columns = payloads ? COLUMNS : [...COLUMNS, VALUE];
  const [header, ...lines] = tableLines({ columns, rows }, width, paint);
  if (!payloads) return [header!, ...lines];
  return [header!, ...lines.flatMap((line, i) => [line, ...wholeValue(entries[i]!, options)])];
}

function cellsOf(entry: JournalEntry, withDay: boolean, { payloads, holderOf }: TimelineOptions): Cell[] {
  const { seq, at, kind, name, key, epoch, payload } = entry;
  const holder = holderOf(epoch);
  const cells: Cell[] = [
    String(seq),
    clockTime(at, withDay),
    { text: kind, colour: colourOf(kind) },
    name,
    key ?? "",
    epoch === 0 ? "" : holder === null ? String(epoch) : `${epoch} ${holder}`,
  ];
  if (payloads) return cells;
  return [...cells, isReason(kind) ? { text: reasonLine(payload), colour: colourOf(kind) } : payloadLine(payload)];
}

function wholeValue({ kind, payload }: JournalEntry, { paint, width }: TimelineOptions): string[] {
  if (payload === null) return [];
  const lines = (isReason(kind) ? wholeReason : wholePayload)(payload, width - INDENT.length);
  return lines.map((line) => INDENT + paint(visible(line), isReason(kind) ? colourOf(kind) : "dim"));
}

function colourOf(kind: string): Colour | undefined {
  if (kind === "completed") return "green";
  if (kind === "retry" || kind === "step.tried") return "yellow";
  if (kind === "cancelled" || kind === "skipped") return "dim";
  return isReason(kind) ? "red" : undefined;
}
