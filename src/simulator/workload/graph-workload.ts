// Graph runs under faults: a cycle with a map, branches, a subgraph, an approval and a wait, whose nodes fail and kill
// their processes.

import { graph } from "../../graph/graph.js";
import type { NodeContext } from "../../graph/node-context.js";
import { append } from "../../graph/reducer.js";
import { state } from "../../graph/state.js";
import type { AnyDefinition } from "../../program/definition.js";
import { signal } from "../../replay/signal.js";
import type { Chance } from "../chance.js";
import { checkGraph } from "../check/graph.js";
import type { History } from "../check/history.js";
import { decidedCall, decidedIn, type ModelRun } from "../check/model.js";
import { keyOfResult } from "../effect-log.js";
import type { DriveOptions, EffectOp, Place, Workload } from "./workload.js";

/** What a run does, drawn before it starts. */
export interface Walk {
  readonly rounds: number;
  readonly items: number;
  readonly ops: readonly Omit<EffectOp, "do">[];
}

interface Way {
  readonly walk: Walk;
  readonly round: number;
  /** The results in the order of the nodes, each once. */
  readonly log: readonly string[];
}

const RING = signal<string>("ring");
const S = state<Way>({ log: append() });

/** Without a place it can be started, but not executed. */
function walking(place: Place | null) {
  const effect = (ctx: NodeContext, kind: "node" | "item", { walk, log }: Way, nth: number) => {
    const op = walk.ops[(nth + ctx.visit.length) % walk.ops.length]!;
    const last = log.at(-1);
    const after = last?.includes("#") ? [keyOfResult(last)] : [];
    return place!.effect(ctx.runId, ctx, { ...op, do: kind }, after);
  };
  const retry = { attempts: 3, delay: 20, backoff: "fixed" } as const;
  const I = state<{ readonly way: Way; readonly left: number; readonly log: readonly string[] }>({ log: append() });
  const inner = graph("inner-walk", {
    state: I,
    init: (way: Way) => ({ way: { ...way, log: [] }, left: 2, log: [] }),
    start: "pace",
    nodes: {
      pace: I.node({ retry }, async (ctx, s) => ({
        left: s.left - 1,
        log: [await effect(ctx, "node", s.way, s.left)],
      })),
    },
    edges: { pace: { to: ["pace", "end"], choose: (s) => (s.left > 0 ? "pace" : "end") } },
    output: (s) => s.log,
  });
  return graph("walk", {
    state: S,
    init: (walk: Walk): Way => ({ walk, round: 0, log: [] }),
    start: "plan",
    nodes: {
      plan: S.node({ retry }, async (ctx, s) => ({ round: s.round + 1, log: [await effect(ctx, "node", s, 0)] })),
      each: S.map(
        (s) => Array.from({ length: s.walk.items }, (_, i) => i),
        (ctx, item, s) => effect(ctx, "item", s, item),
        { into: "log", limit: 2, retry },
      ),
      fan: S.parallel({
        left: S.node({ retry }, async (ctx, s) => ({ log: [await effect(ctx, "node", s, 1)] })),
        inside: S.subgraph(inner, { input: (s) => s, apply: (_s, log) => ({ log }) }),
      }),
      gate: S.approval({
        ask: (s) => `Round ${s.round}?`,
        apply: (_s, decision) => ({ log: [`decided ${decision.outcome}`] }),
      }),
      bell: S.wait(RING, { timeout: 300, apply: (_s, by) => ({ log: [by ?? "none"] }) }),
    },
    edges: {
      plan: "each",
      each: "fan",
      fan: "gate",
      gate: { to: ["bell", "plan"], choose: (s) => (s.round < s.walk.rounds ? "plan" : "bell") },
      bell: { to: "end", failed: "plan" },
    },
    snapshotEvery: 3,
  });
}

export class GraphWorkload implements Workload {
  readonly #left = new Set<string>();
  #told = 0;

  programs(place: Place): readonly AnyDefinition[] {
    return [walking(place)];
  }

  drive({ client, chance, swarm, at, runIds }: DriveOptions): void {
    const soon = () => chance.between(0, swarm.faultsForMs / 2);
    for (let i = 0; i < swarm.runs; i++) {
      const walk = drawWalk(chance, swarm.leaseMs);
      const [signals, decisions] = [chance.int(0, 2), chance.int(0, 2)];
      const times = Array.from({ length: signals + decisions }, soon);
      const cancelAfterMs = chance.happens(0.1) ? soon() : null;
      const isLeft = chance.happens(0.1);
      at(chance.between(0, swarm.faultsForMs * 0.7), async () => {
        const runId = await client.start(walking(null), walk, { key: `walk-${i}` });
        if (runId === null) return;
        if (isLeft) this.#left.add(runId);
        for (const [n, ms] of times.entries()) {
          if (n < signals) at(ms, () => void client.signal(runId, RING, this.#mark("ring")));
          else at(ms, () => void this.#decide(client, runId, n - signals + 1));
        }
        if (cancelAfterMs !== null) at(cancelAfterMs, () => void client.cancel(runId));
      });
    }
    for (let i = chance.int(0, 4); i > 0; i--) {
      at(chance.between(0, swarm.faultsForMs * 1.5), () => {
        const ids = runIds();
        if (ids.length > 0) void client.retry(chance.one(ids), { from: chance.one(["last", "start"]) });
      });
    }
  }

  urge({ client, chance, swarm, at }: DriveOptions, { id, state: now, wakeAtUs, messages, baseSeq }: ModelRun): void {
    if (now !== "parked" || wakeAtUs !== null) return;
    let nth = 1;
    const isDecided = (call: string) =>
      messages.some(({ key, kind }) => kind === "decision" && decidedCall(key) === call && decidedIn(key) === baseSeq);
    while (isDecided(`gate:${nth}`)) nth++;
    at(chance.between(0, swarm.leaseMs / 4), () => void this.#decide(client, id, nth));
  }

  mayWait({ id }: ModelRun): boolean {
    return this.#left.has(id);
  }

  async check(history: History): Promise<void> {
    for (const run of history.runs.values()) if (run.program === "walk") checkGraph(history, run);
  }

  #decide(client: DriveOptions["client"], runId: string, nth: number): Promise<void> {
    return client.decide(runId, "gate", { choice: "approved", by: this.#mark("by"), nth });
  }

  #mark(name: string): string {
    return `${name}-${this.#told++}`;
  }
}

function drawWalk(chance: Chance, leaseMs: number): Walk {
  const draw = () => ({
    ms: chance.happens(0.5) ? 0 : leaseMs * chance.between(0, 0.3),
    fails: chance.happens(0.15) ? chance.int(1, 3) : 0,
    kills: chance.happens(0.08) ? 1 : 0,
    attempts: 3,
  });
  return {
    rounds: chance.int(1, 3),
    items: chance.int(0, 4),
    ops: Array.from({ length: chance.int(2, 5) }, draw),
  };
}
