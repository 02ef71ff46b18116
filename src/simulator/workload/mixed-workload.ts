// All kinds at once in one history: workflows, DAGs, graphs, machines, actors, events and schedules, sagas, limits, selects, poison, in
// one cluster with stacks, next to an env of its own, with retention. A part is a workload that knows its own programs.

import type { AnyDefinition } from "../../program/definition.js";
import { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { EffectLog } from "../effect-log.js";
import type { SimulateOptions } from "../simulate.js";
import { drawFaults, drawSettings, drawWeather, type Swarm } from "../swarm.js";
import { ActorWorkload } from "./actor-workload.js";
import { DagWorkload } from "./dag-workload.js";
import { EventWorkload } from "./event-workload.js";
import { FlowWorkload } from "./flow-workload.js";
import { GraphWorkload } from "./graph-workload.js";
import { MachineWorkload } from "./machine-workload.js";
import { PoisonWorkload } from "./poison-workload.js";
import { SagaWorkload } from "./saga-workload.js";
import { ScriptWorkload } from "./script-workload.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const SHORT = { completed: 1_000, cancelled: 500, failed: 2_000, dead: 2_000 } as const;
/** Parts cancel, pause and retry any run, also those of other parts. */
const POISON_ENDS = ["cancelled", "dead"] as const;

/** Shorter than with one kind: many small histories show more than few long ones in the same time. */
export function mixedSwarm(drawn: Swarm): Swarm {
  const chance = new Chance(drawn.seed).split("mixed");
  const leaseMs = chance.int(800, 3000);
  const { timing, ...settings } = drawSettings(chance, leaseMs);
  const pollInterval = Math.ceil(leaseMs * chance.between(0.1, 0.4));
  const often = { pollInterval, pollMax: pollInterval * chance.int(1, 3) };
  return {
    ...drawn,
    leaseMs,
    urgeEveryMs: leaseMs / 2,
    faultsForMs: leaseMs * chance.int(2, 4),
    nodes: chance.int(2, 3),
    settings: { ...settings, concurrency: chance.int(2, 6), timing: { ...timing, ...often } },
    weather: { ...drawWeather(chance, leaseMs), lateSeals: chance.happens(0.2) ? 0.5 : 0, deaf: chance.happens(0.15) },
    faults: { ...drawFaults(chance, leaseMs / 2), ...(chance.happens(0.3) && { absent: leaseMs }) },
    refuseEveryMs: chance.happens(0.2) ? leaseMs : null,
    sister: chance.happens(0.25),
    buggify: chance.happens(0.8),
    retention: chance.happens(0.4) ? SHORT : null,
  };
}

export const MIXED: SimulateOptions = { workload: (swarm) => new MixedWorkload(swarm), adjust: mixedSwarm };

/** Each part is in this part of the histories: what meets what differs from seed to seed. */
const THERE = 0.7;

interface Part {
  readonly name: string;
  readonly runs: number;
  readonly workload: Workload;
  /** With draws of its own: a part that draws more shifts no other. Set when it is driven. */
  options: DriveOptions | null;
}

export class MixedWorkload implements Workload {
  readonly #parts: readonly Part[];
  readonly #events: EventWorkload;
  readonly #partOf = new Map<string, Part>();

  constructor(swarm: Swarm) {
    const chance = new Chance(swarm.seed).split("parts");
    this.#events = new EventWorkload(swarm, true);
    const all: Readonly<Record<string, Workload>> = {
      script: new ScriptWorkload(swarm),
      dag: new DagWorkload(swarm),
      graph: new GraphWorkload(),
      machine: new MachineWorkload(1),
      actor: new ActorWorkload(),
      event: this.#events,
      saga: new SagaWorkload(),
      flow: new FlowWorkload(),
      poison: new PoisonWorkload(swarm, POISON_ENDS),
    };
    const drawn = Object.entries(all).map(([name, workload]): Part & { readonly isThere: boolean } => ({
      name,
      workload,
      options: null,
      runs: chance.int(1, 2),
      isThere: chance.happens(THERE),
    }));
    this.#parts = drawn.filter(({ isThere }, i) => isThere || i === swarm.seed % drawn.length);
  }

  stackOf(who: "node" | "client", nth: number): string | null {
    return this.#events.stackOf(who, nth);
  }

  programs(place: Place, node: string): readonly AnyDefinition[] {
    return this.#parts.flatMap((part) => {
      const programs = part.workload.programs(place, node);
      for (const { name } of programs) this.#partOf.set(name, part);
      return programs;
    });
  }

  drive(options: DriveOptions): void {
    const { chance, swarm } = options;
    for (const part of this.#parts) {
      part.options = { ...options, chance: chance.split(part.name), swarm: { ...swarm, runs: part.runs } };
      part.workload.drive(part.options);
    }
  }

  urge(options: DriveOptions, run: ModelRun): void {
    const part = this.#of(run);
    if (run.state === "paused") void options.client.resume(run.id);
    else part?.workload.urge(part.options!, run);
  }

  mayWait(run: ModelRun, history: History): boolean {
    return run.state !== "paused" && this.#of(run)?.workload.mayWait(run, history) === true;
  }

  makesAttempts(run: ModelRun): boolean {
    return this.#of(run)?.workload.makesAttempts?.(run) ?? true;
  }

  /** Machines wait for their effects for ever. */
  isLeftAlone(run: ModelRun): boolean {
    return this.#of(run)?.name === "machine";
  }

  /** The effects of a machine have its name in front of theirs. */
  #of({ program }: ModelRun): Part | undefined {
    return this.#partOf.get(program) ?? this.#partOf.get(program.split("::")[0]!);
  }

  async check(history: History, effects: EffectLog): Promise<void> {
    for (const { workload } of this.#parts) await workload.check(history, effects);
  }
}
