// The store, the client and, in development, the node of this process. Hot reload evaluates this module again: what it
// opened before is kept on globalThis, and a node with old code is stopped before the next one starts.

import { createClient, createNode } from "holdfast";
import { postgres } from "holdfast/postgres";
import { order } from "./order.js";

globalThis.holdfastStore ??= postgres(process.env.DATABASE_URL);
const store = globalThis.holdfastStore;

export const client = createClient({ store });

async function replaceNode(before) {
  await (await before)?.stop({ grace: "5s" });
  return createNode({ store, programs: [order] });
}

/** In production the nodes are processes of their own: `node worker.js`. */
if (process.env.NODE_ENV === "development") {
  globalThis.holdfastNode = replaceNode(globalThis.holdfastNode);
}
