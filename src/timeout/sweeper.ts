// Fires timeouts that are due: looks for them, claims each, passes it to the user's conditional write, and removes it.
//
// Claims prevent most double work. A timeout fires once because the handler's own write is conditional on the state and sequence
// that were claimed. So a late handler, a second node and a replaced leader do no harm.

import { sleep, type World } from "../kernel/world.js";
import { createLeader, type Leader } from "../lease/leader.js";
import { createBus, type Listener } from "../telemetry/bus.js";
import { FiringRounds } from "./fire-timeout.js";
import { fruitlessPauseMs, pauseMs, type Swept } from "./sweep-pause.js";
import type { SweeperEvents, SweeperMetrics } from "./sweeper-events.js";
import { type SweeperOptions, type SweeperSettings, sweeperSettings } from "./sweeper-options.js";
import type { TimeoutStore } from "./timeout-store.js";

export class TimeoutSweeper<Id extends string = string, State extends string = string> implements AsyncDisposable {
  readonly nodeId: string;
  readonly #store: TimeoutStore<Id, State>;
  readonly #settings: SweeperSettings;
  readonly #world: World;
  readonly #bus;
  readonly #rounds: FiringRounds<Id, State>;
  readonly #leader: Leader | null;
  readonly #stopped = new AbortController();
  #running: Promise<void> | null = null;
  #unsubscribe = () => {};
  #sweeps = 0;
  #lookErrors = 0;
  /** Consecutive looks in which every handler failed. */
  #fruitless = 0;
  #pause = new AbortController();
  #pausedUntil = 0;
  /** What was scheduled here while a look was under way. */
  #hintedAt = Number.POSITIVE_INFINITY;

  constructor(options: SweeperOptions<Id, State>) {
    this.#settings = sweeperSettings(options);
    this.#store = options.store;
    this.#world = this.#settings.world;
    this.nodeId = this.#settings.nodeId;
    this.#bus = createBus<SweeperEvents>({ world: this.#world });
    this.#leader = this.#settings.election ? this.#campaign(this.#settings.election) : null;
    this.#rounds = new FiringRounds({
      store: this.#store,
      fire: options.fire,
      settings: this.#settings,
      bus: this.#bus,
      mayGoOn: () => !this.#stopped.signal.aborted && (this.#leader?.isLeader() ?? true),
      onPutOff: (inMs) => this.#hint(inMs),
    });
  }

  get isRunning(): boolean {
    return this.#running !== null && !this.#stopped.signal.aborted;
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
    if (this.#running || this.#stopped.signal.aborted) return this;
    this.#unsubscribe = this.#store.onScheduled?.((inMs) => this.#hint(inMs)) ?? (() => {});
    this.#leader?.start();
    this.#running = this.#run();
    return this;
  }

  /** Claims nothing more, waits for running handlers (at most until their claims expire), and resigns as leader. */
  async stop(): Promise<void> {
    this.#stopped.abort("stopped");
    this.#unsubscribe();
    this.#pause.abort("stopped");
    await this.#running;
    await this.#leader?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      if (this.#leader && !this.#leader.isLeader()) {
        // Election wakes it.
        await this.#rest(this.#settings.sweepIntervalMs);
        continue;
      }
      const swept = await this.#sweep();
      if (swept.more) {
        if (this.#fruitless > 0) await this.#rest(fruitlessPauseMs(this.#settings, this.#fruitless));
        continue;
      }
      await this.#rest(pauseMs(this.#settings, swept, () => this.#world.random()));
    }
  }

  async #sweep(): Promise<Swept & { readonly more: boolean }> {
    const { batchSize, sweepIntervalMs } = this.#settings;
    try {
      const { timeouts, nextInMs } = await this.#store.queryExpired(batchSize);
      this.#sweeps++;
      const round = await this.#rounds.fireAll(timeouts);
      this.#fruitless = round.claimed > 0 && round.done === 0 ? this.#fruitless + 1 : 0;
      // Nothing of a full look could be claimed: others are at it, or rows are locked. Asking again at once would spin.
      return { found: timeouts.length, nextInMs, more: timeouts.length === batchSize && round.claimed > 0 };
    } catch (error) {
      this.#lookErrors++;
      this.#bus.emit("sweeper.error", { during: "look", error });
      return { found: 0, nextInMs: sweepIntervalMs, more: false };
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const now = this.#world.monotonicNow();
    this.#pausedUntil = Math.min(now + ms, Math.max(this.#hintedAt, now));
    this.#hintedAt = Number.POSITIVE_INFINITY;
    // Not the last part of a microsecond: a clock of floating numbers may never come past it.
    while (this.#pausedUntil > this.#world.monotonicNow() + 0.001 && !this.#stopped.signal.aborted) {
      this.#pause = new AbortController();
      const leftMs = this.#pausedUntil - this.#world.monotonicNow();
      await sleep(this.#world, leftMs, this.#pause.signal).catch(() => {});
    }
    this.#pausedUntil = 0;
  }

  /** Something will be due in so many ms: a pause that lasts longer is made shorter. */
  #hint(inMs: number): void {
    const at = this.#world.monotonicNow() + inMs;
    if (this.#pausedUntil === 0) this.#hintedAt = Math.min(this.#hintedAt, at);
    if (at >= this.#pausedUntil) return;
    this.#pausedUntil = at;
    this.#pause.abort("hinted");
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
        this.#hint(0);
      },
      onResigned: (_term, reason) => this.#bus.emit("sweeper.resigned", { reason }),
      onError: (error) => {
        this.#lookErrors++;
        this.#bus.emit("sweeper.error", { during: "election", error });
      },
    });
  }
}
