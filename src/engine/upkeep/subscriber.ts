// Declares which events start a node's programs: at its start, and every half minute from then on. So a node that was counted as
// gone is known again, and a subscription that no node declares any more is removed.

import { buggify } from "../../kernel/buggify.js";
import { Loop } from "../../kernel/loop.js";
import type { Subscription } from "../../store/contract/event/events.js";
import type { NodeParts } from "../node-parts.js";

const EVERY_MS = 30_000;
/** Only in simulations. */
const AGAIN_MS = 500;

export interface SubscriberOptions
  extends Pick<NodeParts, "store" | "world" | "bus" | "incarnation" | "env" | "modes"> {
  readonly subscriptions: readonly Subscription[];
  /** What else is declared in each round. */
  readonly onRound: () => Promise<void>;
}

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly #loop: Loop;
  #subscriptions: readonly Subscription[];
  /** The ids that were declared last. */
  #declared: ReadonlySet<string> = new Set();

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#subscriptions = options.subscriptions;
    this.#loop = new Loop({
      world: options.world,
      round: async () => {
        await this.#declare(this.#wanted(), false);
        await options.onRound();
      },
      onError: (error) => options.bus.emit("housekeeping.failed", { error }),
      pauseMs: () => (buggify(options.world, "subscribe.again") ? AGAIN_MS : EVERY_MS),
    });
  }

  /** From now on these and no others. */
  async change(subscriptions: readonly Subscription[]): Promise<void> {
    this.#subscriptions = subscriptions;
    await this.#declare(this.#wanted(), true);
  }

  async start(): Promise<void> {
    await this.#declare(this.#wanted(), true);
    // A node without subscriptions has nothing to withdraw.
    this.#options.modes.onChange(() => {
      if (this.#subscriptions.length > 0) this.#loop.wake();
    });
    this.#loop.start(buggify(this.#options.world, "subscribe.again") ? AGAIN_MS : EVERY_MS);
  }

  /** After the node is registered as stopping: what only it declared is removed, if other nodes have its programs. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#declare([], false, { leaving: true });
  }

  /** A program that is disabled here is not started by events on behalf of this node. */
  #wanted(): readonly Subscription[] {
    const { modes } = this.#options;
    return this.#subscriptions.filter(({ program }) => modes.of(program) !== "disabled");
  }

  async #declare(
    subscriptions: readonly Subscription[],
    starting: boolean,
    leaving: { readonly leaving?: true } = {},
  ): Promise<void> {
    const { store, incarnation, env } = this.#options;
    const mine = new Set(subscriptions.map(({ id }) => id));
    const withdrawn = [...this.#declared].filter((id) => !mine.has(id));
    const gone = withdrawn.length > 0 && { withdrawn };
    await store.events.subscribe({ incarnation, env, subscriptions, starting, ...gone, ...leaving });
    this.#declared = mine;
  }
}
