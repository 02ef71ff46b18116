// Loads the definitions of an env and finds out when they have changed: by a hint, and by a look now and then.

import { HoldfastError } from "../kernel/error.js";
import { sleep, type World } from "../kernel/world.js";
import type { AnyDefinition } from "../program/definition.js";
import type { DefinitionRecord, DefinitionStore } from "../store/contract/definitions.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { ActorEvents } from "./events.js";

const FAREWELL_MS = 2_000;

export interface LoaderOptions {
  readonly store: DefinitionStore;
  readonly env: string;
  readonly world: World;
  readonly bus: Telemetry<ActorEvents>;
  /** How long it sleeps at most between two looks. */
  readonly lookEveryMs: number;
  /** Makes programs of one; throws what is wrong with it. */
  readonly read: (record: DefinitionRecord) => readonly AnyDefinition[];
  /** All that are good: from now on these and no others. */
  readonly onChange: (programs: readonly AnyDefinition[]) => Promise<void>;
}

export class DefinitionLoader {
  readonly #options: LoaderOptions;
  readonly #stopped = new AbortController();
  #revision: string | undefined;
  #wake: (() => void) | null = null;
  #hinted = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  /** Resolves when what is there now is loaded. */
  async load(): Promise<void> {
    const { store, env } = this.#options;
    const unless = this.#revision === undefined ? {} : { unlessRevision: this.#revision };
    const { revision, definitions } = await store.list(env, unless);
    if (!definitions) return;
    const read = definitions.map((record) => ({ record, programs: this.#read(record) }));
    await this.#options.onChange(read.flatMap(({ programs }) => programs ?? []));
    for (const { record, programs } of read) {
      const { kind, name, version, enabled } = record;
      if (programs) this.#options.bus.emit("definition.loaded", { kind, name, version, enabled });
    }
    // Only now: what failed is tried again with the next look.
    this.#revision = revision;
  }

  start(): void {
    this.#loop = this.#run();
  }

  hint(): void {
    this.#hinted = true;
    this.#wake?.();
  }

  async stop(): Promise<void> {
    this.#stopped.abort("stopped");
    this.hint();
    const over = new AbortController();
    await Promise.race([this.#loop, sleep(this.#options.world, FAREWELL_MS, over.signal).catch(() => {})]);
    over.abort("over");
  }

  async #run(): Promise<void> {
    const { bus } = this.#options;
    while (!this.#stopped.signal.aborted) {
      await this.#pause();
      if (this.#stopped.signal.aborted) return;
      this.#hinted = false;
      await this.load().catch((error) => bus.emit("definitions.failed", { error }));
    }
  }

  async #pause(): Promise<void> {
    const { world, lookEveryMs } = this.#options;
    if (this.#hinted) return;
    let cancel = () => {};
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      cancel = world.after(lookEveryMs * (0.75 + world.random() / 2), resolve);
    });
    this.#wake = null;
    cancel();
  }

  #read(record: DefinitionRecord): readonly AnyDefinition[] | null {
    try {
      return this.#options.read(record);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const { kind, name, version } = record;
      this.#options.bus.emit("definition.refused", { kind, name, version, error });
      return null;
    }
  }
}
