// Runs that kill every process that executes them, next to runs that do not: the first end dead, the others complete.

import type { AnyDefinition } from "../../program/definition.js";
import type { StepInfo } from "../../replay/step-call.js";
import { workflow } from "../../workflow/workflow.js";
import type { History } from "../check/history.js";
import type { EffectLog } from "../effect-log.js";
import type { Swarm } from "../swarm.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

/** Kills in its first step; in its second, after progress; restarts each time. */
const POISONS = ["poison", "late-poison", "restarted-poison"] as const;
const ALWAYS = 1_000_000;

/** No process dies but by poison; nodes are cut off and hang, and have room for several runs. */
export function poisonSwarm(drawn: Swarm): Swarm {
  const { faults, settings } = drawn;
  const { cut, pause } = faults;
  return {
    ...drawn,
    faults: { ...(cut !== undefined && { cut }), ...(pause !== undefined && { pause }) },
    settings: { ...settings, recovery: { crashLimit: 5 }, concurrency: 2 + (drawn.seed % 4) },
    runs: 6 + (drawn.seed % 7),
    slots: null,
  };
}

export class PoisonWorkload implements Workload {
  readonly #leaseMs: number;
  readonly #others: readonly string[];

  /** `others`: states in which these runs may end besides, because more is done to them than here. */
  constructor({ leaseMs }: Pick<Swarm, "leaseMs">, others: readonly string[] = []) {
    this.#leaseMs = leaseMs;
    this.#others = others;
  }

  programs(place: Place): readonly AnyDefinition[] {
    return [...POISONS.map((name) => poison(name, place)), innocent(place)];
  }

  drive({ client, chance, swarm, at }: DriveOptions): void {
    const soon = () => chance.between(0, swarm.faultsForMs * 0.7);
    const poisons = chance.int(1, 2);
    for (let i = 0; i < poisons; i++) {
      const one = poison(chance.one(POISONS), null);
      at(soon(), () => void client.start(one, null, {}));
    }
    for (let i = poisons; i < swarm.runs; i++) {
      const ms = Math.ceil(this.#leaseMs * chance.between(0.05, chance.happens(0.3) ? 3 : 0.8));
      at(soon(), () => void client.start(innocent(null), ms, {}));
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  /** S22. */
  async check(history: History, _: EffectLog): Promise<void> {
    for (const run of history.runs.values()) {
      const isPoison = POISONS.some((name) => name === run.program);
      if (!isPoison && run.program !== "innocent") continue;
      const ends = [isPoison ? "dead" : "completed", ...this.#others];
      history.expect(ends.includes(run.state), "S22", run, `${run.program} ended ${run.state}`);
    }
  }
}

const step = (ms: number, kills: number) => ({ do: "step", attempts: 3, ms, fails: 0, kills }) as const;

function poison(name: (typeof POISONS)[number], place: Place | null) {
  const recovery = name === "restarted-poison" ? "restart" : "resume";
  return workflow(name, { recovery }, async (ctx, _: null) => {
    const act = (kills: number) => (info: StepInfo) => place!.effect(ctx.runId, info, step(1, kills), []);
    if (name !== "poison") await ctx.step("first", act(0));
    await ctx.step("kill", act(ALWAYS));
  });
}

function innocent(place: Place | null) {
  return workflow("innocent", async (ctx, ms: number) => {
    for (const name of ["a", "b"]) await ctx.step(name, (info) => place!.effect(ctx.runId, info, step(ms, 0), []));
  });
}
