// Limits and selects under faults: runs with a rate, a serial key and few slots, and runs that wait for the first of several things.
// While they run, nodes are drained and set to another mode.

import type { AnyDefinition } from "../../program/definition.js";
import { signal } from "../../replay/signal.js";
import { workflow } from "../../workflow/workflow.js";
import type { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { DriveOptions, EffectOp, Place, Workload } from "./workload.js";

const RING = signal<string>("ring");
const WORK: EffectOp = { do: "step", attempts: 3, ms: 5, fails: 0, kills: 0 };
const RATE = { limit: 4, per: "1s" } as const;
const SPACING_MS = 1000 / RATE.limit;
const METERED = "metered";

interface Job {
  readonly account: string;
  readonly ms: number;
}

interface Choice {
  readonly napMs: number;
  readonly workMs: number;
}

/** Without a place it can be started, but not executed. */
function metered(place: Place | null) {
  return workflow(METERED, { rate: RATE, concurrency: 3, serial: "account" }, async (ctx, { ms }: Job) => {
    await ctx.step("work", { retry: 3 }, (info) => place!.effect(ctx.runId, info, { ...WORK, ms }, []));
    await ctx.sleep("rest", ms);
    await ctx.step("close", { retry: 3 }, (info) => place!.effect(ctx.runId, info, WORK, []));
  });
}

/** What the lost wait did not take is there for the next one. */
function select(place: Place | null) {
  return workflow("select", async (ctx, { napMs, workMs }: Choice) => {
    const { winner } = await ctx.race({
      ring: ctx.waitFor(RING),
      asked: ctx.approval("choose", { ask: "Which?" }),
      nap: ctx.sleep("nap", napMs),
      work: ctx.step("work", { retry: 3 }, (info) => place!.effect(ctx.runId, info, { ...WORK, ms: workMs }, [])),
    });
    const later = winner === "ring" ? null : await ctx.waitFor(RING, { timeout: napMs });
    return `${winner} ${later ?? ""}`;
  });
}

export class FlowWorkload implements Workload {
  #told = 0;

  programs(place: Place): readonly AnyDefinition[] {
    return [metered(place), select(place)];
  }

  drive(options: DriveOptions): void {
    const { client, sister, chance, swarm, at } = options;
    const soon = () => chance.between(0, swarm.faultsForMs * 0.7);
    for (let i = chance.int(2, 5); i > 0; i--) {
      const job = { account: chance.one(["a", "b"]), ms: Math.ceil(swarm.leaseMs * chance.between(0, 0.4)) };
      at(soon(), () => void client.start(metered(null), job, { key: `m${i}` }));
      if (sister && i === 1) at(soon(), () => void sister.start(metered(null), { ...job, ms: 1 }, { key: "m1" }));
    }
    for (let i = chance.int(1, 2); i > 0; i--) this.#choose(options, drawChoice(chance, swarm.leaseMs), `s${i}`);
    this.#setModes(options);
  }

  #choose({ client, chance, swarm, at }: DriveOptions, choice: Choice, key: string): void {
    const rings = Array.from({ length: chance.int(0, 2) }, () => chance.between(0, 2 * swarm.leaseMs));
    const decideAfterMs = chance.happens(0.4) ? chance.between(0, 2 * swarm.leaseMs) : null;
    at(chance.between(0, swarm.faultsForMs * 0.7), async () => {
      const runId = await client.start(select(null), choice, { key });
      if (runId === null) return;
      for (const ms of rings) at(ms, () => void client.signal(runId, RING, `ring-${++this.#told}`));
      const decision = { choice: "approved", by: `by-${++this.#told}` } as const;
      if (decideAfterMs !== null) at(decideAfterMs, () => void client.decide(runId, "choose", decision));
    });
  }

  /** Each change is undone; at the latest when everything heals, so that every node works again. */
  #setModes({ client, chance, swarm, nodes, at }: DriveOptions): void {
    for (let i = chance.int(0, 2); i > 0; i--) {
      const node = chance.one(nodes);
      const from = chance.between(0, swarm.faultsForMs * 0.9);
      const until = Math.min(from + swarm.leaseMs * chance.between(0.2, 3), swarm.faultsForMs);
      const isDrained = chance.happens(0.5);
      at(from, () => void (isDrained ? client.drain(node) : client.setMode(node, "trigger_only")));
      at(until, () => void client.setMode(node, "full"));
      // The first may have been repeated after it, or a failover has brought it back.
      at(swarm.faultsForMs + swarm.leaseMs, () => void client.setMode(node, "full"));
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History): Promise<void> {
    checkRate(history);
    for (const run of history.runs.values()) if (run.program === "select") checkChosen(history, run);
  }
}

/** S15: the nth start comes no earlier than the rate allows after the first could have come. */
function checkRate(history: History): void {
  if (history.disturbedAt >= 0) return;
  const runs = history.everyRun.filter(({ program, env }) => program === METERED && env === "default");
  const insertedAt = Math.min(...runs.map(({ journal }) => journal[0]!.at));
  const begun = runs.flatMap((run) => (run.grants[0] ? [{ run, at: run.grants[0].at }] : []));
  begun.sort((a, b) => a.at - b.at);
  for (const [n, { run, at }] of begun.entries()) {
    const early = insertedAt + n * SPACING_MS - 1 - at;
    history.expect(early <= 0, "S15", run, `start ${n + 1} under the rate came ${early} ms too early`);
  }
}

/** S12: a signal is taken by the wait that won, or by the next one: one each, in the order in which they came. */
function checkChosen(history: History, run: ModelRun): void {
  if (run.state !== "completed") return;
  const log = run.journal.slice(run.baseSeq);
  const rings = log.filter(({ kind, key }) => kind === "take" && key!.startsWith("signal:")).map(({ key }) => key!);
  const inOrder = run.messages.filter(({ kind }) => kind === "signal").map(({ key }) => key);
  history.expect(rings.join() === inOrder.slice(0, rings.length).join(), "S12", run, `took ${rings} of ${inOrder}`);
}

function drawChoice(chance: Chance, leaseMs: number): Choice {
  return {
    napMs: Math.ceil(leaseMs * chance.between(0.1, 2)),
    workMs: Math.ceil(leaseMs * chance.between(0.05, 1.5)),
  };
}
