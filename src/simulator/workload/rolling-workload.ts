// Two versions of the code at once: one node always has the newer one, the others switch with every start. No run ends
// because of it, and none is left when all nodes are up.

import type { AnyDefinition } from "../../program/definition.js";
import type { Workflow } from "../../workflow/context.js";
import { workflow } from "../../workflow/workflow.js";
import type { History } from "../check/history.js";
import type { Swarm } from "../swarm.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const NEWEST = "n0";
type Child = Workflow<string, number, string>;
type Context = Parameters<Child["run"]>[0];

export class RollingWorkload implements Workload {
  readonly #swarm: Swarm;
  readonly #lives = new Map<string, number>();

  constructor(swarm: Swarm) {
    this.#swarm = swarm;
  }

  programs(place: Place, node: string): readonly AnyDefinition[] {
    const life = (this.#lives.get(node) ?? 0) + 1;
    this.#lives.set(node, life);
    const child = node === NEWEST || life % 2 === 0 ? newer(this.#steps(place)) : older(this.#steps(place));
    return [child, parent(child)];
  }

  #steps(place: Place | null) {
    const { leaseMs } = this.#swarm;
    return {
      step: (ctx: Context, name: string) => {
        const op = { do: "step", name, ms: leaseMs / 20, fails: 0, attempts: 3, delayMs: 1, kills: 0 } as const;
        return ctx.step(name, (info) => place!.effect(ctx.runId, info, op, []));
      },
      nap: (ctx: Context, name: string) => ctx.sleep(name, Math.ceil(leaseMs / 4)),
    };
  }

  drive({ client, chance, swarm, at }: DriveOptions): void {
    const started = parent(older(this.#steps(null)));
    for (let i = 0; i < Math.ceil(swarm.runs / 3); i++) {
      const [children, key] = [chance.int(1, 4), `r${i}`];
      at(chance.between(0, swarm.faultsForMs), () => void client.start(started, children, { key }));
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  /** Only runs that crashed too often, and runs that waited for them, may have failed. */
  async check(history: History): Promise<void> {
    const runs = [...history.runs.values()];
    for (const run of runs) {
      const died = runs.some(({ parentId, state }) => parentId === run.id && state === "dead");
      const fine = run.state === "completed" || run.state === "dead" || died;
      history.expect(fine, "S9", run, `${run.state} in a deployment: ${run.journal.at(-1)?.payload?.data}`);
    }
  }
}

type Steps = {
  readonly step: (ctx: Context, name: string) => Promise<string>;
  readonly nap: (ctx: Context, name: string) => Promise<void>;
};

function older({ step, nap }: Steps): Child {
  return workflow("child", async (ctx, n: number) => {
    await step(ctx, "a");
    await nap(ctx, "nap 1");
    await step(ctx, "b");
    await nap(ctx, "nap 2");
    await step(ctx, "c");
    return `${n}`;
  });
}

/** A step that `patched` guards, and one more at the end: it fits what the older code wrote, but not the other way round. */
function newer({ step, nap }: Steps): Child {
  return workflow("child", async (ctx, n: number) => {
    await step(ctx, "a");
    await nap(ctx, "nap 1");
    if (await ctx.patched("x")) await step(ctx, "x");
    await step(ctx, "b");
    await nap(ctx, "nap 2");
    await step(ctx, "c");
    await step(ctx, "d");
    return `${n}`;
  });
}

function parent(child: Child) {
  return workflow("parent", async (ctx, children: number) => {
    await ctx.children(
      child,
      Array.from({ length: children }, (_, i) => i),
    );
    return children;
  });
}
