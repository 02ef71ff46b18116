// Declares what events start a node's programs: at its start, and from then on now and then, so that a node which was taken
// for gone is there again, and what nobody declares any more is removed.

import { sleep, type World } from "../../kernel/world.js";
import type { Subscription } from "../../store/contract/event/events.js";
import type { Store } from "../../store/contract/store.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";
import type { Modes } from "../modes.js";

const EVERY_MS = 30_000;

export interface SubscriberOptions {
  readonly store: Store;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly incarnation: string;
  readonly env: string;
  readonly subscriptions: readonly Subscription[];
  readonly modes: Modes;
  /** What else is said now and then. */
  readonly onRound: () => Promise<void>;
}

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly #over = new AbortController();
  #subscriptions: readonly Subscription[];
  #going: Promise<void> = Promise.resolve();
  #changed = () => {};
  /** By id: what the store was told last. */
  #declared: ReadonlySet<string> = new Set();

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#subscriptions = options.subscriptions;
  }

  /** From now on these and no others. */
  async change(subscriptions: readonly Subscription[]): Promise<void> {
    this.#subscriptions = subscriptions;
    await this.#declare(this.#wanted(), true);
  }

  async start(): Promise<void> {
    await this.#declare(this.#wanted(), true);
    this.#options.modes.onChange(() => this.#changed());
    this.#going = this.#goOn();
  }

  /** After the node has said that it stops: what only it knew is removed, if others have its programs. */
  async stop(): Promise<void> {
    this.#over.abort("stopped");
    await this.#going;
    await this.#declare([], false);
  }

  async #goOn(): Promise<void> {
    const { world, bus } = this.#options;
    for (;;) {
      const changed = new AbortController();
      // A node that has none has nothing to withdraw.
      if (this.#subscriptions.length > 0) this.#changed = () => changed.abort("changed");
      await sleep(world, EVERY_MS, AbortSignal.any([this.#over.signal, changed.signal])).catch(() => {});
      if (this.#over.signal.aborted) return;
      await this.#declare(this.#wanted(), false)
        .then(() => this.#options.onRound())
        .catch((error) => bus.emit("housekeeping.failed", { error }));
    }
  }

  /** A program that is disabled here is started by no event for this node's sake. */
  #wanted(): readonly Subscription[] {
    const { modes } = this.#options;
    return this.#subscriptions.filter(({ program }) => modes.of(program) !== "disabled");
  }

  async #declare(subscriptions: readonly Subscription[], starting: boolean): Promise<void> {
    const { store, incarnation, env } = this.#options;
    const mine = new Set(subscriptions.map(({ id }) => id));
    const withdrawn = [...this.#declared].filter((id) => !mine.has(id));
    await store.events.subscribe({
      incarnation,
      env,
      subscriptions,
      starting,
      ...(withdrawn.length > 0 && { withdrawn }),
    });
    this.#declared = mine;
  }
}
