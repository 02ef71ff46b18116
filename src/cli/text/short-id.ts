// Shortens run ids for people to the groups that distinguish the runs shown. A command that receives a short id
// searches all runs and rejects one that matches several.

/** Where the groups of a UUID end. The first group alone is the same for all runs of a minute. */
const ENDS = [13, 18, 23, 36];

export function shortIds(ids: readonly string[]): (id: string) => string {
  const distinct = new Set(ids).size;
  const end = ENDS.find((length) => new Set(ids.map((id) => id.slice(0, length))).size === distinct);
  return (id) => id.slice(0, end);
}
