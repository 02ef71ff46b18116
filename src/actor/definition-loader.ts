// Loads the definitions of an env, again when it is woken, and now and then.
//
// A version that was saved over is not dropped at once: runs continue with the version they began with. It is kept while runs wait
// for it, and for a while after; one that was dropped too early is loaded again with the next look.

import { HoldfastError } from "../kernel/error.js";
import { Loop } from "../kernel/loop.js";
import type { World } from "../kernel/world.js";
import type { AnyDefinition } from "../program/definition.js";
import type { DefinitionRecord, DefinitionStore, OlderDefinition } from "../store/contract/definition/definitions.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { ActorEvents } from "./events.js";

/** A version for which no run has waited for this long is dropped. A run that parks for longer waits for a look when it is woken. */
export const KEPT_MS = 10 * 60_000;

export interface LoaderOptions {
  readonly store: DefinitionStore;
  readonly env: string;
  readonly world: World;
  readonly bus: Telemetry<ActorEvents>;
  /** How long it sleeps at most between two looks. */
  readonly lookEveryMs: number;
  /** Makes programs of one, given those that were made of others; throws what is wrong with it. */
  readonly read: (record: Readable, made: readonly AnyDefinition[]) => readonly AnyDefinition[];
  /** All that are good: from now on these and no others. */
  readonly onChange: (programs: readonly AnyDefinition[]) => Promise<void>;
}

/** Older versions are not enabled: their runs continue, and nothing starts them. */
export type Readable = OlderDefinition & Pick<DefinitionRecord, "enabled">;

interface Kept {
  readonly record: Readable;
  waitedForAt: number;
}

export class DefinitionLoader {
  readonly #options: LoaderOptions;
  readonly #loop: Loop;
  #revision: string | undefined;
  #current: readonly DefinitionRecord[] = [];
  readonly #kept = new Map<string, Kept>();
  /** The kept ones that were made programs of last. */
  #served = "";

  constructor(options: LoaderOptions) {
    this.#options = options;
    this.#loop = new Loop({
      world: options.world,
      round: () => this.load(),
      onError: (error) => options.bus.emit("definitions.failed", { error }),
      pauseMs: () => this.#pauseMs(),
    });
  }

  /** Resolves when what is stored now is loaded. */
  async load(): Promise<void> {
    const { store, env, bus } = this.#options;
    const unless = this.#revision === undefined ? {} : { unlessRevision: this.#revision };
    const { revision, definitions } = await store.list(env, unless);
    const older = await store.older(env);
    const current = definitions ?? this.#current;
    this.#keep(current, older);
    const kept = [...this.#kept.keys()].join();
    if (!definitions && kept === this.#served) return;
    const loaded = await this.#change(current);
    this.#current = current;
    this.#served = kept;
    for (const { kind, name, version, enabled } of definitions ? loaded : [])
      bus.emit("definition.loaded", { kind, name, version, enabled });
    // Only now: what failed is tried again with the next look.
    this.#revision = revision;
  }

  start(): void {
    this.#loop.start(this.#pauseMs());
  }

  /** Definitions may have changed. */
  wake(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  #pauseMs(): number {
    const { world, lookEveryMs } = this.#options;
    return lookEveryMs * (0.75 + world.random() / 2);
  }

  /** What was current until now, and what runs wait for. */
  #keep(current: readonly DefinitionRecord[], older: readonly OlderDefinition[]): void {
    const now = this.#options.world.monotonicNow();
    const isCurrent = new Set(current.map(keyOf));
    for (const record of [...this.#current, ...older]) {
      const key = keyOf(record);
      if (isCurrent.has(key)) continue;
      const kept = this.#kept.get(key);
      if (kept) kept.waitedForAt = now;
      else this.#kept.set(key, { record: { ...record, enabled: false }, waitedForAt: now });
    }
    for (const [key, { waitedForAt }] of this.#kept)
      if (isCurrent.has(key) || now - waitedForAt > KEPT_MS) this.#kept.delete(key);
  }

  /** Actors before DAGs, which may run their expectations; older versions before newer, which take their place. */
  async #change(current: readonly DefinitionRecord[]): Promise<readonly DefinitionRecord[]> {
    const all: Readable[] = [...[...this.#kept.values()].map(({ record }) => record), ...current];
    const made = new Map<string, AnyDefinition>();
    const loaded = new Set<Readable>();
    for (const record of [...all].sort((a, b) => inOrder(a, b))) {
      const programs = this.#read(record, [...made.values()]);
      if (programs) loaded.add(record);
      for (const program of programs ?? []) {
        const key = `${program.name} ${program.version ?? ""}`;
        made.delete(key);
        made.set(key, program);
      }
    }
    await this.#options.onChange([...made.values()]);
    return current.filter((record) => loaded.has(record));
  }

  #read(record: Readable, made: readonly AnyDefinition[]): readonly AnyDefinition[] | null {
    try {
      return this.#options.read(record, made);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const { kind, name, version } = record;
      this.#options.bus.emit("definition.refused", { kind, name, version, error });
      return null;
    }
  }
}

function keyOf({ kind, name, version }: OlderDefinition): string {
  return `${kind} ${name} ${version}`;
}

function inOrder(a: OlderDefinition, b: OlderDefinition): number {
  return a.kind === b.kind ? a.version - b.version : a.kind === "actor" ? -1 : 1;
}
