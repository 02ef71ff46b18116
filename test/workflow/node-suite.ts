// Opens nodes with quick settings on either store, for the suites that need nothing else.

import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import type { Store } from "../../src/store/contract/store.js";
import type { Transaction } from "../../src/store/contract/transaction.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { memoryTransaction } from "../../src/store/memory/table/transaction.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { mergeOptions } from "../harness/merge-options.js";

export const QUICK = { timing: { pollInterval: 20, pollMax: 50, housekeeping: 20, lease: 2_000 } } as const;

export interface Bench {
  readonly store: Store;
  /** Stopped after the test that opened it, or after the suite. */
  open(options: Omit<NodeOptions, "store">): Promise<Node>;
  /** A transaction of the caller's own. */
  begin(): Promise<{ readonly tx: Transaction; commit(): Promise<void>; rollback(): Promise<void> }>;
}

/**
 * Runs the suite on memory and on PostgreSQL; the bench is filled before its first test. Nodes are stopped after the test that
 * opened them: each runs housekeeping 50 times a second, and those of twenty tests take most of a machine. `perTest`: waits for
 * the stop; otherwise work that ignores its abort keeps no test waiting.
 */
export function onBothStores(suite: (bench: Bench) => void, { perTest = false } = {}): void {
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
      const ofTest: Node[] = [];
      const stopping: Promise<unknown>[] = [];
      let inTest = false;
      const bench = {
        store: undefined as unknown as Store,
        async open(options: Omit<NodeOptions, "store">) {
          const node = await createNode({ store: bench.store, ...mergeOptions(QUICK, options) });
          (inTest ? ofTest : nodes).push(node);
          return node;
        },
        async begin() {
          if (name === "on PostgreSQL") return beginOn(url);
          const tx = memoryTransaction(bench.store);
          return { tx, commit: async () => tx.commit(), rollback: async () => tx.rollback() };
        },
      };
      beforeAll(async () => {
        bench.store = await openStore();
      });
      const stopAll = (some: Node[]) => Promise.all(some.splice(0).map((node) => node.stop({ grace: "1s" })));
      beforeEach(() => {
        inTest = true;
      });
      afterEach(async () => {
        inTest = false;
        const stopped = stopAll(ofTest);
        if (perTest) await stopped;
        else stopping.push(stopped);
      });
      afterAll(async () => {
        await Promise.all([...stopping, stopAll(nodes)]);
        await bench.store.close();
      });
      suite(bench);
    });
  }
}

async function beginOn(url: string): ReturnType<Bench["begin"]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("begin");
  const end = async (how: string) => {
    await client.query(how);
    await client.end();
  };
  return { tx: client, commit: () => end("commit"), rollback: () => end("rollback") };
}
