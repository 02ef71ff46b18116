// Fires timeouts that are due: looks for them, claims each, passes it to the user's conditional write, and removes it.
//
// Claims prevent most double work. A timeout fires once because the handler's own write is conditional on the state and sequence
// that were claimed. So a late handler, a second node and a replaced leader do no harm.

import { Loop } from "../kernel/loop.js";
import type { World } from "../kernel/world.js";
import { createLeader, type Leader } from "../lease/leader.js";
import { createBus, type Listener } from "../telemetry/bus.js";
import { FiringRounds } from "./fire-timeout.js";
import { fruitlessPauseMs, pauseMs, type Swept } from "./sweep-pause.js";
import type { SweeperEvents, SweeperMetrics } from "./sweeper-events.js";
import { type SweeperOptions, type SweeperSettings, sweeperSettings } from "./sweeper-options.js";
import type { TimeoutStore } from "./timeout-store.js";

/**
 * Looks for due timeouts, claims them and calls `fire`: each on one node, also when several sweep.
 *
 * @example
 * ```ts
 * await using sweeper = new TimeoutSweeper({
 *   store: timeouts,
 *   leaderElection: { lease: "30s", renew: "10s" },
 *   fire: async ({ instance, state, sequence }) => {
 *     // One write that checks and moves: a payment in between wins or loses, and nothing happens twice.
 *     const { rowCount } = await pool.query(
 *       "update orders set state = 'expired', seq = seq + 1 where id = $1 and state = $2 and seq = $3",
 *       [instance, state, sequence],
 *     );
 *     return rowCount === 1 ? "fired" : "stale";
 *   },
 * });
 * ```
 */
export class TimeoutSweeper<Id extends string = string, State extends string = string> implements AsyncDisposable {
  /** Its name in claims. */
  readonly nodeId: string;
  readonly #store: TimeoutStore<Id, State>;
  readonly #settings: SweeperSettings;
  readonly #world: World;
  readonly #bus;
  readonly #rounds: FiringRounds<Id, State>;
  readonly #leader: Leader | null;
  readonly #loop: Loop;
  #unsubscribe = () => {};
  #sweeps = 0;
  #lookErrors = 0;
  /** Consecutive looks in which every handler failed. */
  #fruitless = 0;

  constructor(options: SweeperOptions<Id, State>) {
    this.#settings = sweeperSettings(options);
    this.#store = options.store;
    this.#world = this.#settings.world;
    this.nodeId = this.#settings.nodeId;
    this.#bus = createBus<SweeperEvents>({ world: this.#world });
    this.#loop = new Loop({
      world: this.#world,
      round: () => this.#round(),
      onError: (error) => {
        this.#lookErrors++;
        this.#bus.emit("sweeper.error", { during: "look", error });
        return this.#pauseMs({ found: 0, nextInMs: this.#settings.sweepIntervalMs });
      },
    });
    this.#leader = this.#settings.election ? this.#campaign(this.#settings.election) : null;
    this.#rounds = new FiringRounds({
      store: this.#store,
      fire: options.fire,
      settings: this.#settings,
      bus: this.#bus,
      mayContinue: () => !this.#loop.isStopped && (this.#leader?.isLeader() ?? true),
      onPutOff: (inMs) => this.#loop.wake(inMs),
    });
  }

  /** Whether it was started and not stopped. */
  get isRunning(): boolean {
    return this.#loop.isRunning;
  }

  /** Null without leader election. */
  get isLeader(): boolean | null {
    return this.#leader?.isLeader() ?? null;
  }

  /** Counted since the sweeper was created. */
  metrics(): SweeperMetrics {
    const counts = this.#rounds.counts();
    return { ...counts, sweeps: this.#sweeps, errors: counts.errors + this.#lookErrors };
  }

  /** Returns a function that ends the subscription. */
  on<Name extends keyof SweeperEvents & string>(name: Name, listener: Listener<SweeperEvents[Name]>): () => void {
    return this.#bus.on(name, listener);
  }

  /** The first look is at once. */
  start(): this {
    if (this.#loop.isRunning || this.#loop.isStopped) return this;
    this.#unsubscribe = this.#store.onScheduled?.((inMs) => this.#loop.wake(inMs)) ?? (() => {});
    this.#leader?.start();
    this.#loop.start();
    return this;
  }

  /** Claims nothing more, waits for running handlers (at most until their claims expire), and resigns as leader. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop(Number.POSITIVE_INFINITY);
    await this.#leader?.stop();
  }

  /** Stops it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #round(): Promise<number> {
    const { batchSize, sweepIntervalMs } = this.#settings;
    // Its election wakes it.
    if (this.#leader && !this.#leader.isLeader()) return sweepIntervalMs;
    const { timeouts, nextInMs } = await this.#store.queryExpired(batchSize);
    this.#sweeps++;
    const round = await this.#rounds.fireAll(timeouts);
    this.#fruitless = round.claimed > 0 && round.done === 0 ? this.#fruitless + 1 : 0;
    // Nothing of a full look could be claimed: other nodes claim them, or rows are locked. Asking again at once would spin.
    const isMore = timeouts.length === batchSize && round.claimed > 0;
    if (!isMore) return this.#pauseMs({ found: timeouts.length, nextInMs });
    return this.#fruitless > 0 ? fruitlessPauseMs(this.#settings, this.#fruitless) : 0;
  }

  #pauseMs(swept: Swept): number {
    return pauseMs(this.#settings, swept, () => this.#world.random());
  }

  #campaign({ claims, key, timing }: NonNullable<SweeperSettings["election"]>): Leader {
    return createLeader({
      ...timing,
      claims,
      key,
      owner: this.#settings.nodeId,
      world: this.#world,
      onElected: ({ fence }) => {
        this.#bus.emit("sweeper.elected", { epoch: fence.epoch });
        this.#loop.wake();
      },
      onResigned: (_term, reason) => this.#bus.emit("sweeper.resigned", { reason }),
      onError: (error) => {
        this.#lookErrors++;
        this.#bus.emit("sweeper.error", { during: "election", error });
      },
    });
  }
}
