// The programs of a node that live in the database: loaded when it opens, and again whenever they change.

import type { ActorEvents } from "../actor/definition-events.js";
import { DefinitionLoader, type Readable } from "../actor/definition-loader.js";
import type { Strategies } from "../actor/named-strategy.js";
import { programNames, quiet, readDefinition } from "../actor/read-definition.js";
import type { Tasks } from "../dag/named-task.js";
import type { Engine } from "../engine/engine.js";
import type { NodeParts } from "../engine/node-parts.js";
import type { NodeWakeups } from "../engine/node-wakeups.js";
import type { Program } from "../engine/program.js";
import { InvalidInput } from "../kernel/error.js";
import type { AnyDefinition } from "../program/definition.js";
import { isServedIn } from "../program/startable.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { Scheduler } from "../trigger/scheduler.js";
import { subscriptionsOf } from "../trigger/subscription.js";

export interface DynamicOptions extends Pick<NodeParts, "store" | "world" | "env" | "stack"> {
  readonly bus: Telemetry<ActorEvents>;
  readonly crashLimit: number;
  readonly lookEveryMs: number;
  readonly strategies: Strategies;
  readonly tasks: Tasks;
  /** Programs from the code: always present, and their names are reserved. */
  readonly programs: readonly AnyDefinition[];
  readonly served: (definition: AnyDefinition) => readonly Program[];
  readonly engine: Engine;
  readonly wakeups: NodeWakeups;
  readonly newScheduler: (programs: readonly AnyDefinition[]) => Scheduler;
}

export class DynamicPrograms {
  readonly #options: DynamicOptions;
  readonly #loader: DefinitionLoader;
  readonly #taken: ReadonlySet<string>;
  #scheduler: Scheduler | null = null;

  constructor(options: DynamicOptions) {
    this.#options = options;
    this.#taken = new Set(programNames(options.programs));
    const { store, world, bus, env, lookEveryMs } = options;
    const read = (record: Readable, made: readonly AnyDefinition[]) => this.#read(record, made);
    const onChange = (programs: readonly AnyDefinition[]) => this.#change(programs);
    this.#loader = new DefinitionLoader({ store: store.definitions, world, bus, env, lookEveryMs, read, onChange });
    options.wakeups.on("news", () => this.#loader.wake());
  }

  /** After the engine has started. */
  async open(): Promise<void> {
    await this.#loader.load();
    this.#loader.start();
  }

  async stop(): Promise<void> {
    await this.#loader.stop();
    await this.#scheduler?.stop();
  }

  #read(record: Readable, others: readonly AnyDefinition[]): readonly AnyDefinition[] {
    const { strategies, tasks, programs, stack } = this.#options;
    const expectationOf = (name: string) =>
      [...programs, ...others].find((one) => one.kind === "episode" && one.name === name);
    const made = readDefinition(record, { strategies, tasks, expectationOf });
    const elsewhere = new Set(programNames(others.filter(({ kind }) => (kind === "dag") !== (record.kind === "dag"))));
    const taken = programNames(made).find((name) => this.#taken.has(name) || elsewhere.has(name));
    if (taken) throw new InvalidInput("name", `${JSON.stringify(taken)} is a program of this node already`);
    const here = made.filter((one) => isServedIn(stack, one));
    return record.enabled ? here : here.map(quiet);
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
