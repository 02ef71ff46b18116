// The programs of a node that live in the database: loaded when it opens, and again whenever they change.

import { actorOf } from "../actor/definition-body.js";
import { DefinitionLoader } from "../actor/definition-loader.js";
import type { ActorEvents } from "../actor/events.js";
import type { Strategies } from "../actor/named-strategy.js";
import type { Engine } from "../engine/engine.js";
import type { Program } from "../engine/program.js";
import { InvalidInput } from "../kernel/error.js";
import type { World } from "../kernel/world.js";
import type { AnyDefinition } from "../program/definition.js";
import type { DefinitionRecord } from "../store/contract/definitions.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { Scheduler } from "../trigger/scheduler.js";
import { subscriptionsOf } from "../trigger/subscription.js";

export interface DynamicOptions {
  readonly store: Store;
  readonly world: World;
  readonly bus: Telemetry<ActorEvents>;
  readonly env: string;
  readonly stack: string | null;
  readonly crashLimit: number;
  readonly lookEveryMs: number;
  readonly strategies: Strategies;
  /** Of the code: always there, and their names are taken. */
  readonly programs: readonly AnyDefinition[];
  readonly served: (definition: AnyDefinition) => readonly Program[];
  readonly engine: Engine;
  readonly newScheduler: (programs: readonly AnyDefinition[]) => Scheduler;
}

export class DynamicPrograms {
  readonly #options: DynamicOptions;
  readonly #loader: DefinitionLoader;
  #scheduler: Scheduler | null = null;

  constructor(options: DynamicOptions) {
    this.#options = options;
    const { store, world, bus, env, lookEveryMs } = options;
    const read = (record: DefinitionRecord) => this.#read(record);
    const onChange = (programs: readonly AnyDefinition[]) => this.#change(programs);
    this.#loader = new DefinitionLoader({ store: store.definitions, world, bus, env, lookEveryMs, read, onChange });
  }

  /** After the engine has started. */
  async open(): Promise<void> {
    this.#options.engine.onNews = () => this.#loader.hint();
    await this.#loader.load();
    this.#loader.start();
  }

  async stop(): Promise<void> {
    await this.#loader.stop();
    await this.#scheduler?.stop();
  }

  #read({ name, body, version, enabled, kind }: DefinitionRecord): readonly AnyDefinition[] {
    const { strategies, programs } = this.#options;
    if (kind !== "actor") return [];
    const made = Object.values(actorOf(name, JSON.parse(body), { version, enabled, strategies }).expectations);
    const taken = made.find((one) => programs.some((program) => program.name === one.name));
    if (taken) throw new InvalidInput("name", `${JSON.stringify(taken.name)} is a program of this node's own code`);
    return made;
  }

  async #change(dynamic: readonly AnyDefinition[]): Promise<void> {
    const { engine, programs, served, env, stack, crashLimit, newScheduler } = this.#options;
    const all = [...programs, ...dynamic];
    await this.#scheduler?.stop();
    await engine.serve(all.flatMap(served), subscriptionsOf(all, { env, stack, crashLimit }));
    this.#scheduler = newScheduler(dynamic);
    if (this.#scheduler.hasSchedules) await this.#scheduler.declare(null);
    this.#scheduler.start();
  }
}
