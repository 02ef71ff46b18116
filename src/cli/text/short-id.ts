// Run ids for people: cut to as many groups as tell the runs shown apart. A command that is given such a beginning looks
// for it among all runs and refuses one that fits several.

/** Where the groups of a UUID end. The first group alone is the same for all runs of a minute. */
const ENDS = [13, 18, 23, 36];

export function shortIds(ids: readonly string[]): (id: string) => string {
  const distinct = new Set(ids).size;
  const end = ENDS.find((length) => new Set(ids.map((id) => id.slice(0, length))).size === distinct);
  return (id) => id.slice(0, end);
}
