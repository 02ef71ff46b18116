// The simulated database: the memory store with a clock that may jump, restarts, and failovers that lose the last commits.

import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import { tablesOf } from "../store/memory/table/open-stores.js";
import type { Tables } from "../store/memory/table/tables.js";
import type { Method, OperationName } from "../store/operation.js";
import { methodOf } from "../store/operations.js";
import type { Applied } from "./applied.js";
import type { Chance } from "./chance.js";
import { copyTables, restoreTables } from "./clone-tables.js";
import { Incarnation } from "./incarnation.js";
import type { Scheduler } from "./scheduler.js";

/** Owner of events that happen at the database. */
export const DATABASE = 0;

export interface DatabaseOptions {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  /** A store on the memory store's tables, in the database's world. */
  readonly openStore: (world: World) => Store;
  readonly onApplied: (applied: Applied, by: string) => void;
  /** The memory store threw: no operation may. */
  readonly onThrown: (op: string, error: unknown) => void;
  /** A node's presence is held from now on, or lost; a node gave a sign of life. */
  readonly onPresence: (incarnation: string, held: boolean) => void;
  readonly onHeard: (incarnation: string) => void;
}

export class Database {
  readonly store: Store;
  readonly tables: Tables;
  readonly onApplied: DatabaseOptions["onApplied"];
  readonly onThrown: DatabaseOptions["onThrown"];
  readonly onPresence: DatabaseOptions["onPresence"];
  readonly onHeard: DatabaseOptions["onHeard"];
  /** Rises with every restart: what was sent to an earlier one is dropped. */
  boot = 0;
  down = false;
  readonly #clock = { offsetMs: 0, drift: 0 };

  constructor({ scheduler, chance, openStore, onApplied, onThrown, onPresence, onHeard }: DatabaseOptions) {
    this.store = openStore(new Incarnation(DATABASE, "database", { scheduler, chance, clock: this.#clock }));
    this.tables = tablesOf(this.store);
    this.onApplied = onApplied;
    this.onThrown = onThrown;
    this.onPresence = onPresence;
    this.onHeard = onHeard;
  }

  methodOf(name: OperationName): Method {
    return methodOf(this.store, name);
  }

  jumpClock(ms: number): void {
    this.#clock.offsetMs += ms;
  }

  stop(): void {
    this.down = true;
    this.boot++;
  }

  start(): void {
    if (this.down) this.tables.presence.serverStartedAtUs = this.tables.nowUs();
    this.down = false;
  }

  /** What a lagging replica has now. Call the answer to fail over to it. */
  lag(): () => void {
    const kept = copyTables(this.tables);
    return () => {
      this.boot++;
      restoreTables(this.tables, kept);
    };
  }
}
