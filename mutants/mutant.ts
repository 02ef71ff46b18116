// A planted bug: a patch on a copy of the source, never a switch in it.

/** What must fail: one test of a file, a whole file, or one of the simulator's first `seeds` seeds. */
export type Killer =
  | { readonly file: string; readonly test?: string }
  | { readonly seeds: number; readonly from?: number };

export interface Mutant {
  readonly name: string;
  /** The promise it breaks. */
  readonly breaks: string;
  /** Each `find` must occur exactly once in its file: a patch that no longer applies fails. */
  readonly edits: readonly { readonly file: string; readonly find: string; readonly put: string }[];
  /** Run in this order until one of them fails. */
  readonly killedBy: readonly Killer[];
}

export function applyEdit(text: string, edit: Mutant["edits"][number]): string | null {
  const parts = text.split(edit.find);
  return parts.length === 2 ? parts.join(edit.put) : null;
}
