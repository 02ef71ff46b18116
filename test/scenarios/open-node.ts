// A node of the scenarios, wherever it runs: reports what its steps do and what happens to its claims.

import { randomUUID } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { createNode, type Node, type NodeOptions } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";
import { mergeOptions } from "../harness/merge-options.js";
import { type Effect, taskWith } from "./task.js";

export interface Wish extends Partial<Omit<NodeOptions, "store" | "programs">> {
  readonly url: string;
  readonly schema: string;
}

export type Tell = (event: string, detail?: unknown) => void;

export class Held {
  readonly #held = new Map<string, () => void>();

  wait(runId: string): Promise<void> {
    return new Promise((resolve) => this.#held.set(runId, resolve));
  }

  release(runId: string): void {
    this.#held.get(runId)?.();
  }

  releaseAll(): void {
    for (const resolve of this.#held.values()) resolve();
  }
}

/** Null: it was rejected, and has reported it. */
export async function openNode({ url, schema, ...options }: Wish, tell: Tell, held: Held): Promise<Node | null> {
  const task = taskWith(async (effect: Effect, ms, isHeld) => {
    const value = randomUUID();
    tell("effect", { ...effect, value });
    if (isHeld) await held.wait(effect.runId);
    else await pass(ms);
    return value;
  });
  const store = postgres(url, { schema, queryTimeout: "2s" });
  try {
    const quick = { timing: { housekeeping: 100, pollInterval: 50, pollMax: 200 } };
    const node = await createNode({ store, programs: [task], ...mergeOptions(quick, options) });
    for (const name of ["run.claimed", "run.settled", "run.reclaimed", "claim.lost", "claim.in_doubt"] as const) {
      node.on(name, ({ node: _, ...facts }) => tell(name, facts));
    }
    node.on("step.completed", ({ runId, step }) => tell("step.completed", { runId, step }));
    tell("ready");
    return node;
  } catch (error) {
    tell("refused", { code: (error as { code?: string }).code, message: (error as Error).message });
    await store.close();
    return null;
  }
}
