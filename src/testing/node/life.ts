// One life of a simulated process: the world its code runs in. A killed life gets no answer any more, so its continuations vanish.

import type { UserCall, World } from "../../kernel/world.js";
import type { VirtualWorld } from "../virtual-world.js";

/** What a test does around user code. */
export interface LifeHooks {
  readonly perform?: <T>(life: Life, call: UserCall, work: () => T) => T;
  readonly parks?: World["parks"];
}

export class Life implements World {
  alive = true;
  readonly id: () => string;
  readonly #clock: VirtualWorld;
  readonly #hooks: LifeHooks;
  readonly #onKilled = new Set<() => void>();
  /** Monotonic: a frozen process receives nothing until then. */
  #frozenUntil = 0;

  constructor(clock: VirtualWorld, hooks: LifeHooks = {}) {
    this.#clock = clock;
    this.#hooks = hooks;
    this.id = clock.id;
  }

  /** The process is gone: its timers, answers and connections end. */
  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const end of this.#onKilled) end();
  }

  /** Returns a function that removes the listener. */
  onKilled(end: () => void): () => void {
    this.#onKilled.add(end);
    return () => void this.#onKilled.delete(end);
  }

  /** The process does not run for a while, and its connections stay open. */
  freeze(ms: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, this.#clock.monotonicNow() + ms);
  }

  wallNow(): number {
    return this.#clock.wallNow();
  }

  monotonicNow(): number {
    return this.#clock.monotonicNow();
  }

  random(): number {
    return this.#clock.random();
  }

  token(): string {
    return this.#clock.token();
  }

  after(ms: number, callback: () => void): () => void {
    let cancel = this.#clock.after(ms, () => fire());
    const fire = () => {
      if (!this.alive) return;
      const frozenMs = this.#frozenUntil - this.#clock.monotonicNow();
      if (frozenMs > 0) cancel = this.#clock.after(frozenMs, fire);
      else callback();
    };
    return () => cancel();
  }

  async turn(): Promise<void> {
    await this.#clock.turn();
    await this.thawed();
  }

  /** Resolves while the process runs: later when it is frozen, never when it is killed. */
  thawed(): Promise<void> {
    if (!this.alive) return new Promise(() => {});
    if (this.#frozenUntil <= this.#clock.monotonicNow()) return Promise.resolve();
    return new Promise((resolve) => this.after(0, resolve));
  }

  /** Delivers what arrives from outside, unless the process is gone. */
  deliver(callback: () => void): void {
    void this.thawed().then(() => {
      if (this.alive) callback();
    });
  }

  faultPoint(name: string): void | Promise<void> {
    return this.#clock.faultPoint(name);
  }

  perform<T>(call: UserCall, work: () => T): T {
    return this.#hooks.perform ? this.#hooks.perform(this, call, work) : work();
  }

  parks(runId: string, calls: Iterable<{ readonly id: string }>): void {
    this.#hooks.parks?.(runId, calls);
  }
}
