// Merges the options of a node option by option, also inside the groups, where a spread would replace a whole group.

import type { NodeOptions } from "../../src/node/node-options.js";

const GROUPS = ["identity", "flow", "timing", "recovery"] as const;

/** What `options` sets wins over `base`. */
export function mergeOptions<Options extends Partial<NodeOptions>>(
  base: Partial<NodeOptions>,
  options: Options,
): Options {
  const groups = GROUPS.filter((group) => base[group] || options[group]).map((group) => [
    group,
    { ...base[group], ...options[group] },
  ]);
  return { ...base, ...options, ...Object.fromEntries(groups) };
}
