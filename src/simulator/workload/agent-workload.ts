// Graph runs under faults that keep values: two nodes side by side put their results into the store, a third one compares them with the
// run's state, asks a person and streams.

import { graph } from "../../graph/graph.js";
import type { NodeContext } from "../../graph/node-context.js";
import { merge } from "../../graph/reducer.js";
import { state } from "../../graph/state.js";
import { codecs } from "../../kernel/codec/codecs.js";
import type { AnyDefinition } from "../../program/definition.js";
import { PermanentError } from "../../replay/step-error.js";
import type { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { DriveOptions, EffectOp, Place, Workload } from "./workload.js";

interface Task {
  readonly op: Omit<EffectOp, "do">;
  readonly results: Readonly<Record<string, string>>;
}

const S = state<Task>({ results: merge() });
const PARTED = "the store and the journal have parted";
const { decode } = codecs();

/** Without a place it can be started, but not executed. */
function agent(place: Place | null) {
  const retry = { attempts: 3, delay: 20, backoff: "fixed" } as const;
  const work = async (ctx: NodeContext, { op }: Task) => {
    const result = await place!.effect(ctx.runId, ctx, { ...op, do: "node" }, []);
    ctx.store.put(ctx.runId, ctx.node, result);
    ctx.write(result);
    return { results: { [ctx.node]: result } };
  };
  return graph("agent", {
    state: S,
    init: (op: Task["op"]): Task => ({ op, results: {} }),
    start: "plan",
    nodes: {
      plan: S.node({ retry }, work),
      left: S.node({ retry }, work),
      right: S.node({ retry }, work),
      ask: S.node({ retry: 1 }, async (ctx, s) => {
        for (const [node, result] of Object.entries(s.results))
          if ((await ctx.store.get(ctx.runId, node)) !== result) throw new PermanentError(PARTED);
        return { results: { ask: String(await ctx.interrupt("Go?")) } };
      }),
    },
    edges: { plan: { to: ["left", "right"] }, left: "ask", right: "ask", ask: "end" },
    output: (s) => s.results,
  });
}

export class AgentWorkload implements Workload {
  #told = 0;

  programs(place: Place): readonly AnyDefinition[] {
    return [agent(place)];
  }

  drive({ client, chance, swarm, at }: DriveOptions): void {
    for (let i = 0; i < swarm.runs; i++) {
      const op = drawOp(chance, swarm.leaseMs);
      const decidedAfterMs = chance.between(0, swarm.faultsForMs / 2);
      at(chance.between(0, swarm.faultsForMs * 0.7), async () => {
        const runId = await client.start(agent(null), op, { key: `agent-${i}` });
        if (runId !== null) at(decidedAfterMs, () => void this.#decide(client, runId));
      });
    }
  }

  urge({ client, chance, swarm, at }: DriveOptions, { id, state: now }: ModelRun): void {
    if (now === "parked") at(chance.between(0, swarm.leaseMs / 4), () => void this.#decide(client, id));
  }

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    for (const run of history.runs.values()) {
      const end = run.journal.at(-1);
      const message = run.state === "failed" && (decode(end!.payload!) as { message?: unknown }).message;
      history.expect(message !== PARTED, "S6", run, PARTED);
      if (run.state !== "completed") continue;
      const nodes = Object.keys(decode(end!.payload!) as object).sort();
      history.expect(nodes.join() === "ask,left,plan,right", "S13", run, `it completed with ${nodes.join()}`);
    }
  }

  #decide(client: DriveOptions["client"], runId: string): Promise<void> {
    return client.decide(runId, "ask", { choice: "answered", by: `by-${this.#told++}`, data: "yes" });
  }
}

function drawOp(chance: Chance, leaseMs: number): Task["op"] {
  return {
    ms: chance.happens(0.5) ? 0 : leaseMs * chance.between(0, 0.3),
    fails: chance.happens(0.15) ? chance.int(1, 2) : 0,
    kills: chance.happens(0.15) ? 1 : 0,
    attempts: 3,
  };
}
