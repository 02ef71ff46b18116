// The API report of an entry point: every public signature, sorted, without comments. A review reads its difference.

import type { Declared, Entry } from "./surface.js";

export type Formatted = ReadonlyMap<Declared, readonly string[]>;

const block = (list: readonly Declared[], signatures: Formatted) =>
  `\`\`\`ts\n${list.flatMap((one) => signatures.get(one)!).join("\n\n")}\n\`\`\`\n`;

export function reportOf({ name, exported, behind }: Entry, signatures: Formatted): string {
  const head = `# ${name}\n\nEvery public signature. \`npm run api\` writes this file.\n\n`;
  if (behind.length === 0) return `${head}${block(exported, signatures)}`;
  return `${head}${block(exported, signatures)}\n## Not exported, but mentioned by these\n\n${block(behind, signatures)}`;
}
