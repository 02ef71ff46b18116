// One life of a process: the world its code runs in. When it is killed, nothing it waits for ever happens, so all of
// its continuations vanish like memory; when it is paused, everything happens later.

import { uuidv7 } from "../kernel/id.js";
import type { World } from "../kernel/world.js";
import type { Chance } from "./chance.js";
import type { Scheduler } from "./scheduler.js";

/** One turn of the event loop takes this long, so that code that only turns moves on in time. */
const TURN_MS = 0.01;
const START_AT = Date.UTC(2030, 0, 1, 12);

export interface WallClock {
  readonly offsetMs: number;
  /** 0.01: one per cent too fast. */
  readonly drift: number;
}

export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly clock: WallClock;
}

export class Incarnation implements World {
  readonly owner: number;
  readonly name: string;
  readonly id: () => string;
  /** Off, unless the seed bends points of the code. */
  buggify: NonNullable<World["buggify"]> = () => false;
  alive = true;
  pausedUntil = 0;
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #clock: WallClock;
  readonly #bornAt: number;

  constructor(owner: number, name: string, { scheduler, chance, clock }: Surroundings) {
    this.owner = owner;
    this.name = name;
    this.#scheduler = scheduler;
    this.#chance = chance;
    this.#clock = clock;
    this.#bornAt = scheduler.now;
    this.id = uuidv7(
      () => Math.floor(this.wallNow()),
      (size) => chance.bytes(size),
    );
  }

  kill(): void {
    this.alive = false;
  }

  wallNow(): number {
    return START_AT + this.#clock.offsetMs + this.#scheduler.now * (1 + this.#clock.drift);
  }

  monotonicNow(): number {
    return this.#scheduler.now - this.#bornAt;
  }

  random(): number {
    return this.#chance.random();
  }

  token(): string {
    return this.#chance.uuid();
  }

  after(ms: number, callback: () => void): () => void {
    let event = this.#scheduler.after(ms, this.owner, () => fire());
    const fire = () => {
      if (!this.alive) return;
      const leftMs = this.pausedUntil - this.#scheduler.now;
      if (leftMs > 0) event = this.#scheduler.after(leftMs, this.owner, fire);
      else callback();
    };
    return () => {
      event.run = null;
    };
  }

  turn(): Promise<void> {
    return new Promise((resolve) => this.after(TURN_MS, resolve));
  }

  faultPoint(): void {}
}
