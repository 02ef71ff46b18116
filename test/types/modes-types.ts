// What modes, recovery and claims accept. The compiler is the test, as in workflow-types.ts.

import { recovery } from "../../src/compat/recovery.js";
import type { WorkClaims } from "../../src/lease/work-claims.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { Store } from "../../src/store/contract/store.js";
import { workflow } from "../../src/workflow/workflow.js";

declare const store: Store;
declare const node: Node;
declare const claims: WorkClaims;
const order = workflow("order", { recovery: "restart", stacks: ["blue"] }, async (_ctx, id: string) => id);
// @ts-expect-error no such policy
workflow("other", { recovery: "retry" }, async () => {});

void node.mode.set("trigger_only", { keep: true });
void node.mode.override(order, "full");
void node.mode.override("order", "disabled");
// @ts-expect-error no such mode
void node.mode.set("off");
// @ts-expect-error a number is no program
void node.mode.override(7, "full");
const { nodeMode, overrides, nodeIdentity } = node.mode.status();
nodeMode satisfies "full" | "trigger_only" | "disabled";
overrides satisfies Readonly<Record<string, "full" | "trigger_only" | "disabled">>;
nodeIdentity satisfies string;

void createNode({
  store,
  programs: [order],
  flow: { mode: "disabled", takeDeferred: ["a", "b"], deferredExpiry: false, claims },
});
void createNode({ store, programs: [order], flow: { claims: { adapter: claims, lease: "2m" } } });
// @ts-expect-error a duration, or false
void createNode({ store, programs: [order], flow: { deferredExpiry: true } });

void recovery({ store }).sweep({
  actorRegistry: { order },
  resolvePolicy: ({ group }) => (group.stack ? "fail" : undefined),
});
// @ts-expect-error no such policy
void recovery({ store }).sweep({ resolvePolicy: () => "skip" });
