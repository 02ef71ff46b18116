// The colour of a node: one of eight, by a hash of its name, the same on every page. Lists of runs know the name only.

export const OWNER_STRIPES = 8;

/** FNV-1a over the characters. */
export function ownerStripe(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % OWNER_STRIPES;
}
