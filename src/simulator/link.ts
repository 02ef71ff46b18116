// The link from one process to the database: requests and replies travel separately, and either may be late or lost.
// Like the PostgreSQL store, it repeats a call whose outcome is unknown for a while before it fails.

import { HoldfastError } from "../kernel/error.js";
import { sleep } from "../kernel/world.js";
import type { OperationName } from "../store/operation.js";
import { StoreRefused, StoreUnavailable } from "../store/postgres/connection/errors.js";
import type { Chance } from "./chance.js";
import { DATABASE, type Database } from "./database.js";
import type { Incarnation } from "./incarnation.js";
import type { Scheduler } from "./scheduler.js";

/** No answer came: the request was lost, or the reply was. */
class Unanswered extends HoldfastError {
  readonly code = "UNANSWERED";

  constructor(op: string) {
    super(`No answer to ${op}.`);
  }
}

/** How the network is at the moment; the same object for all, changed when everything heals. */
export interface Weather {
  latencyMs: number;
  /** Part of requests that are lost, and of replies. */
  loss: number;
  /** Part of messages that take up to three timeouts. */
  late: number;
  /**
   * Part of transactions and gathered events whose last statement takes that long on its own connection, so that the claim may be
   * lost before it arrives. Little else is refused then: a node in doubt begins no transaction, and an answered renewal stops one.
   */
  lateSeals: number;
  /** Part of rows that another statement has locked. */
  busy: number;
  /** No notification arrives at all. */
  deaf?: boolean;
  readonly timeoutMs: number;
  readonly retryForMs: number;
}

/** Whether a node's cable is cut, or the server refuses it or only its presence; outlives the node's incarnations. */
export interface Cable {
  cut: boolean;
  /** PostgreSQL's code for why; null: it is accepted. */
  refused: string | null;
  /** Its presence cannot be established. */
  absent: boolean;
  /** Of the incarnation that attended last. */
  presence: { drop(): void } | null;
}

export function newCable(): Cable {
  return { cut: false, refused: null, absent: false, presence: null };
}

/** A password or a permission; a standby or a connection limit: the store itself repeats the latter. */
export const REFUSALS = ["28P01", "42501", "25006", "53300"] as const;
const PASSING: readonly string[] = ["25006", "53300"];

const SEALS: readonly string[] = ["runs.transact", "events.settleDebounced"] satisfies OperationName[];

export interface LinkOptions {
  readonly world: Incarnation;
  readonly database: Database;
  readonly scheduler: Scheduler;
  readonly weather: Weather;
  readonly cable: Cable;
  readonly chance: Chance;
}

export class Link {
  readonly #options: LinkOptions;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get database(): Database {
    return this.#options.database;
  }

  get name(): string {
    return this.#options.world.name;
  }

  get cable(): Cable {
    return this.#options.cable;
  }

  get world(): Incarnation {
    return this.#options.world;
  }

  /** The longest pause before a connection is tried again. */
  get patienceMs(): number {
    return this.#options.weather.timeoutMs / 4;
  }

  /** What a process gets when the other end does not answer. */
  refusal(op: string): HoldfastError {
    return new Unanswered(op);
  }

  /** A connection ended: the process learns it from its own machine, even when the network is gone. */
  notice(hear: () => void): void {
    const { world, weather, chance } = this.#options;
    world.after(weather.latencyMs * (0.5 + chance.random()), hear);
  }

  /** For each of n rows, whether another statement has it locked just now. */
  locked(n: number): boolean[] {
    const { chance, weather } = this.#options;
    return Array.from({ length: n }, () => weather.busy > 0 && chance.happens(weather.busy));
  }

  /** `repeated: false`: not by the store either, because its caller has a next round. */
  async call<T>(op: string, apply: () => Promise<T>, { repeated } = { repeated: true }): Promise<T> {
    const { world, weather } = this.#options;
    const startedAt = world.monotonicNow();
    const retryForMs = repeated ? weather.retryForMs : 0;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt(op, apply);
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        const spentMs = world.monotonicNow() - startedAt;
        const delayMs = Math.min(10 * 2 ** tries, 200);
        if (spentMs + delayMs > retryForMs) throw new StoreUnavailable(op, spentMs, error);
        await sleep(world, delayMs);
      }
    }
  }

  /** Asked once, of the database as it was at that boot: null when no answer came, and whether it was done is unknown. */
  async once<T>(op: string, boot: number, apply: () => Promise<T>): Promise<T | null> {
    try {
      return await this.#attempt(op, apply, boot);
    } catch (error) {
      if (error instanceof Unanswered) return null;
      throw error;
    }
  }

  /** A notification from the database; it may get lost. */
  push(deliver: () => void): void {
    if (!this.#loses() && !this.#options.weather.deaf) this.#options.world.after(this.#travelMs(), deliver);
  }

  #attempt<T>(op: string, apply: () => Promise<T>, boot = this.database.boot): Promise<T> {
    const { world, database, scheduler, weather, chance } = this.#options;
    return new Promise((resolve, reject) => {
      if (!world.alive) return;
      const giveUp = () => reject(new Unanswered(op));
      const cancelTimeout = world.after(weather.timeoutMs, giveUp);
      // A broken connection is noticed at once or not at all.
      const lose = () => {
        if (chance.happens(0.5)) world.after(this.#travelMs(), giveUp);
      };
      const reply = (deliver: () => void) => {
        if (this.#loses()) return lose();
        world.after(this.#travelMs(), () => {
          cancelTimeout();
          deliver();
        });
      };
      if (this.#loses()) return lose();
      const lateness = SEALS.includes(op) ? Math.max(weather.late, weather.lateSeals) : weather.late;
      scheduler.after(this.#travelMs(lateness), DATABASE, () => {
        if (database.down || database.boot !== boot || this.#options.cable.cut) return lose();
        const { refused } = this.#options.cable;
        if (refused !== null) return reply(() => reject(refusal(op, refused)));
        apply().then(
          (answer) => reply(() => resolve(answer)),
          (error) => {
            database.onThrown(op, error);
            reply(() => reject(error));
          },
        );
      });
    });
  }

  #loses(): boolean {
    const { cable, weather, chance } = this.#options;
    return cable.cut || (weather.loss > 0 && chance.happens(weather.loss));
  }

  #travelMs(late = this.#options.weather.late): number {
    const { weather, chance } = this.#options;
    if (late > 0 && chance.happens(late)) return chance.between(1, 3 * weather.timeoutMs);
    return weather.latencyMs * (0.5 + chance.random());
  }
}

function refusal(op: string, code: string): HoldfastError {
  if (PASSING.includes(code)) return new Unanswered(op);
  return new StoreRefused(op, Object.assign(new Error("refused"), { code }));
}
