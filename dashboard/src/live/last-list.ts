// The runs of the list that was shown last: `[` and `]` on a run's page move in it.

let ids: readonly string[] = [];

export function rememberList(shown: readonly string[]): void {
  ids = shown;
}

export function neighbourOf(id: string, step: 1 | -1): string | null {
  const at = ids.indexOf(id);
  return at === -1 ? null : (ids[at + step] ?? null);
}
