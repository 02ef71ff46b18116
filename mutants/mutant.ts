// A planted bug: a patch on a copy of the source, never a switch in it.

export interface Mutant {
  readonly name: string;
  /** The promise it breaks. */
  readonly breaks: string;
  /** Each `find` must stand exactly once in its file: a patch that no longer applies fails. */
  readonly edits: readonly { readonly file: string; readonly find: string; readonly put: string }[];
  /** At least one of these must fail. */
  readonly killedBy: readonly string[];
}

export function applyEdit(text: string, edit: Mutant["edits"][number]): string | null {
  const parts = text.split(edit.find);
  return parts.length === 2 ? parts.join(edit.put) : null;
}
