// The order of ids and names: by code unit, as in the database, never by a language's rules.

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
