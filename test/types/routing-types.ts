// Which executors a node may name. The compiler is the test, as in workflow-types.ts.

import { createNode } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import type { Store } from "../../src/store/contract/store.js";

declare const store: Store;
const programs = [] as const;

export async function executors(): Promise<void> {
  const executors = { default: 8, gpu: 1 };
  await createNode({
    store,
    programs,
    flow: {
      executors,
      serve: [
        ["ml::*", "gpu"],
        ["**", "default"],
      ],
    },
  });
  await createNode({ store, programs, flow: { executors: { default: 8, gpu: 1 }, serve: [["ml::*", "gpu"], "**"] } });
  await createNode({ store, programs, flow: { executors: { gpu: 1 }, serve: [["ml::*", "gpu"]] } });
  await createNode({ store, programs, concurrency: 4, flow: { serve: ["etl::*", ["**", "default"]] } });
  await createNode({ store, programs, flow: { claiming: false } });
  // @ts-expect-error: no such executor
  await createNode({ store, programs, flow: { executors, serve: [["ml::*", "gpus"]] } });
  // @ts-expect-error: without executors there is one, `default`
  await createNode({ store, programs, flow: { serve: [["ml::*", "gpu"]] } });
  // @ts-expect-error: a pattern alone goes to `default`, and there is none
  await createNode({ store, programs, flow: { executors: { gpu: 1 }, serve: ["ml::*"] } });
  // @ts-expect-error: a rule has a pattern first
  await createNode({ store, programs, flow: { executors, serve: [{ pattern: "ml::*", executor: "gpu" }] } });
  // @ts-expect-error: slots are a number
  await createNode({ store, programs, flow: { executors: { gpu: "1" } } });
}

export async function elsewhere(): Promise<void> {
  const known: NodeOptions<"gpu" | "default"> = { store, programs, flow: { executors: { gpu: 1, default: 2 } } };
  await createNode(known);
  const any: NodeOptions = { store, programs };
  const node = await createNode(any);
  const executor: string | null | undefined = node.serves()[0]?.executor;
  void executor;
}
