// Opens nodes with quick settings on either store, for the suites that need nothing else.

import { afterAll, beforeAll, describe } from "vitest";
import { createNode, type Node, type NodeOptions } from "../../src/client/create-node.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";

export const QUICK = { pollInterval: 20, pollMax: 50, housekeeping: 20, lease: 2_000, startupGrace: 0 } as const;

export interface Bench {
  readonly store: Store;
  /** Stopped after the suite. */
  open(options: Omit<NodeOptions, "store">): Promise<Node>;
}

/** Runs the suite on memory and on PostgreSQL; the bench is filled before its first test. */
export function onBothStores(suite: (bench: Bench) => void): void {
  const { url, schema } = testSchema();
  const stores: [string, () => Promise<Store>][] = [
    ["on the memory store", async () => memoryStore()],
    [
      "on PostgreSQL",
      async () => {
        const store = openPostgres(url, { schema });
        await store.migrate();
        return store;
      },
    ],
  ];
  for (const [name, openStore] of stores) {
    describe(name, () => {
      const nodes: Node[] = [];
      const bench = {
        store: undefined as unknown as Store,
        async open(options: Omit<NodeOptions, "store">) {
          const node = await createNode({ store: bench.store, ...QUICK, ...options });
          nodes.push(node);
          return node;
        },
      };
      beforeAll(async () => {
        bench.store = await openStore();
      });
      afterAll(async () => {
        await Promise.all(nodes.map((node) => node.stop({ grace: "1s" })));
        await bench.store.close();
      });
      suite(bench);
    });
  }
}
