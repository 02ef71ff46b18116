// Writes the table of store operations as a page: what docs/internals/store-operations.md has to say.

import type { AnyOperation } from "../src/store/operation.js";
import { OPERATIONS_BY_NAME } from "../src/store/operations.js";

const HEAD = `# Store operations

Every operation of the contract in [\`src/store/contract\`](../../src/store/contract/store.ts), generated from the table in
[\`src/store/operations.ts\`](../../src/store/operations.ts). After a change: \`npx vitest run test/store/operations.test.ts -u\`.

- **changes**: empty when the operation only reads.
- **bad arguments**: \`call\` rejects the whole call; \`item\` answers the bad item and stores its neighbours.
- **batch**: rows in one statement at most; \`gathers\` when calls that come together leave together.
- **repeated**: whether the store repeats it after a lost answer. If not, its caller has a next round.
- **tx**: whether it accepts a transaction of the caller.

| operation | changes | bad arguments | batch | repeated | tx |
|---|---|---|---|---|---|
`;

export function describeOperations(): string {
  return `${HEAD}${[...OPERATIONS_BY_NAME].map(([name, operation]) => row(name, operation)).join("\n")}\n`;
}

function row(name: string, { changes, check, each, batch, repeated, tx }: AnyOperation): string {
  const refuses = [...(check ? ["call"] : []), ...(each ? ["item"] : [])].join(", ");
  const batches = batch ? `${batch.maxRows}${batch.gathers ? ", gathers" : ""}` : "";
  return `| \`${name}\` | ${changes ?? ""} | ${refuses} | ${batches} | ${repeated ? "yes" : "no"} | ${tx ? "yes" : ""} |`;
}
