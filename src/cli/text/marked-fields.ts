// Redacts a machine effect's input in its run: fields marked by the machine are not shown there either.

import { codecs } from "../../kernel/codec/codecs.js";
import { redact } from "../../machine/redact.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import { decode } from "./payload-text.js";

const known = codecs();

/** The entries of an effect's run without marked fields; entries of any other run unchanged. */
export function withoutMarked(program: string, entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const paths = program.endsWith("::effects") ? markedIn(entries[0]) : [];
  if (paths.length === 0) return entries;
  return entries.map((entry, i) => {
    if (entry.payload === null) return entry;
    const decoded = decode(entry.payload);
    if ("unreadable" in decoded) return entry;
    const shown = i === 0 ? aboutWithout(decoded.value as About, paths) : redact(decoded.value, "event", paths);
    return { ...entry, payload: known.encode(shown, "shown") };
  });
}

type About = Readonly<Record<"context" | "event" | "params" | "redact", unknown>>;

function aboutWithout({ redact: _, ...about }: About, paths: readonly string[]): unknown {
  const { context, event, params } = about;
  return {
    ...about,
    context: redact(context, "context", paths),
    event: redact(event, "event", paths),
    params: redact(params, "params", paths),
  };
}

function markedIn(start: JournalEntry | undefined): readonly string[] {
  const decoded = start?.payload ? decode(start.payload) : null;
  const value = decoded && "value" in decoded ? (decoded.value as { readonly redact?: unknown } | null) : null;
  return Array.isArray(value?.redact) ? (value.redact as string[]) : [];
}
