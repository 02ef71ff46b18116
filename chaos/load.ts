// The outside client: starts runs and sends signals at a steady pace, and remembers what was acknowledged.

import { setTimeout as pass } from "node:timers/promises";
import { createNode, DecisionConflict, GateClosed, type Node, type RunHandle } from "../src/index.js";
import type { Chance } from "../src/simulator/chance.js";
import { type PostgresStore, postgres, StoreUnavailable } from "../src/store/postgres/index.js";
import { accountOf, shipped } from "./kinds.js";
import { paid, programsWith, STARTED } from "./programs.js";
import { SETTINGS, STORE_SETTINGS } from "./settings.js";

const EVERY_MS = 70;
const LOOK_EVERY_MS = 250;
/** Two minutes: longer than the harm lasts in CI, and than healing may take. */
const MOST_LOOKS = 480;
/** Every tenth start is also an event. */
const EMIT_EVERY = 10;
type Startable = (typeof programs)["order"];
const programs = programsWith(() => Promise.reject(new Error("the client works on nothing")));

/** What was acknowledged to the client, for the checker. */
export interface Started {
  /** Acknowledged events, by their `no`. */
  readonly emitted: ReadonlySet<string>;
  /** Runs whose cancel or decision was acknowledged, and by whom it was. */
  readonly authors: ReadonlyMap<string, string>;
}

export class Load implements Started {
  /** Acknowledged starts: the run, and what it must answer with. */
  readonly acknowledged = new Map<string, number>();
  readonly emitted = new Set<string>();
  readonly authors = new Map<string, string>();
  /** Acknowledged cancels: true when nothing more of the run could begin from then on. */
  readonly cancelled = new Map<string, boolean>();
  /** Calls that failed in a way they must not. */
  readonly surprises: string[] = [];
  readonly #store: PostgresStore;
  readonly #chance: Chance;
  readonly #open = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #node: Node | null = null;
  #poisons = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(url: string, chance: Chance) {
    this.#store = postgres(url, STORE_SETTINGS);
    this.#chance = chance;
  }

  async start(): Promise<void> {
    // It works on nothing, but keeps house like any node.
    this.#node = await createNode({ store: this.#store, programs: [], identity: { id: "client" }, ...SETTINGS });
    this.#running = this.#loop();
  }

  /** Starts a run that kills every process that works on it, until it is dead. */
  poison(): void {
    const n = ++this.#poisons;
    this.#track(async () => {
      await insist(() => this.#node!.start(programs.poison, undefined, { key: `poison-${n}` }));
    });
  }

  /** Starts nothing more; resolves when every call was answered. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#open);
    // Otherwise there is always a run that has not ended.
    await insist(() => this.#node!.schedules.pause("ticker", { by: "client" }));
  }

  async close(): Promise<void> {
    await this.#node?.stop();
    await this.#store.close();
  }

  async #loop(): Promise<void> {
    for (let n = 1; !this.#stop.signal.aborted; n++) {
      this.#track(() => this.#one(n * 10));
      if (n % EMIT_EVERY === 0) for (const _ of ["one", "and again"]) this.#track(() => this.#emit(n * 10));
      await pass(EVERY_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  #track(work: () => Promise<void>): void {
    const call: Promise<void> = work()
      .catch((error) => void this.surprises.push(`client: ${String(error)}`))
      .finally(() => this.#open.delete(call));
    this.#open.add(call);
  }

  async #one(n: number): Promise<void> {
    const kind = this.#chance.one(STARTED);
    // Long enough that a holder who was missed comes back while the next one is still at it.
    const job = { n, workMs: this.#chance.int(50, 2_000) };
    const signalsAfterMs = [this.#chance.int(0, 1_500), this.#chance.int(0, 500)];
    const input = kind === "metered" ? { ...job, account: accountOf(n) } : job;
    const run = await insist(() => this.#node!.start(programs[kind] as Startable, input, { key: `job-${n}` }));
    this.acknowledged.set(run.id, n);
    if (kind === "tour") return this.#approve(run, signalsAfterMs[0]!);
    if (kind === "trip") return this.#cancel(run, signalsAfterMs[0]!);
    if (kind !== "payment") return;
    for (const [i, ms] of signalsAfterMs.entries()) {
      await pass(ms);
      await insist(() => run.signal(paid, n + i, { id: `part-${i}` }));
    }
  }

  /** The same event twice at once: it starts what it starts once. */
  async #emit(n: number): Promise<void> {
    const no = `e${n}`;
    await insist(() => this.#node!.emit(shipped, { no, n, workMs: 500 }, { id: no }));
    this.emitted.add(no);
  }

  /** At any moment of the trip, also before it begins and after it has ended. */
  async #cancel(run: RunHandle<unknown>, afterMs: number): Promise<void> {
    await pass(afterMs);
    const by = `client of ${run.id}`;
    const answer = await insist(() => run.cancel({ by }));
    const isFinal = answer.outcome === "cancelled" || (answer.outcome === "requested" && answer.acknowledged);
    if (answer.outcome === "ended") return;
    this.cancelled.set(run.id, isFinal);
    this.authors.set(run.id, by);
  }

  /** Until the run is at its gate. One whose answer was lost is found decided, by ourselves. */
  async #approve(run: RunHandle<unknown>, afterMs: number): Promise<void> {
    const decision = { choice: "approved", by: `client of ${run.id}` };
    await pass(afterMs);
    for (let tries = 0; ; tries++) {
      try {
        await insist(() => run.decide("gate", decision));
        this.authors.set(run.id, decision.by);
        return;
      } catch (error) {
        if (error instanceof DecisionConflict && error.by === decision.by) return;
        if (!(error instanceof GateClosed) || tries === MOST_LOOKS) throw error;
        await pass(LOOK_EVERY_MS);
      }
    }
  }
}

/** Whether it happened is unknown: the same call again, with the same key, finds out. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}
