// The ground of a test: one clock, one memory store, the processes on it, and a client that survives them.

import { type Codecs, codecs as openCodecs } from "../../kernel/codec/codecs.js";
import { type Duration, toMs } from "../../kernel/duration.js";
import { resolveSettings } from "../../kernel/setting/settings.js";
import { systemWorld } from "../../kernel/system-world.js";
import { sleep, type UserCall } from "../../kernel/world.js";
import { Node } from "../../node/create-node.js";
import { type NodeOptions, OPTION_NAMES } from "../../node/node-options.js";
import type { RunOfServices, Services } from "../../program/environment.js";
import type { Store } from "../../store/contract/store.js";
import { memoryStore } from "../../store/memory/memory-store.js";
import { tablesOf } from "../../store/memory/table/open-stores.js";
import type { Tables } from "../../store/memory/table/tables.js";
import { VirtualWorld } from "../virtual-world.js";
import { Driver } from "./driver.js";
import { Life, type LifeHooks } from "./life.js";
import { lifeStore, type Passage } from "./life-store.js";
import { sqlOf, type TestDatabase } from "./test-database.js";
import { explainRuns, ParkedCalls } from "./what-waits.js";

/** The options of a node, without what a test replaces. */
export interface BedOptions extends Omit<NodeOptions, "store" | "signals"> {
  /** Answers the SQL of transaction steps. @default such a step fails with TEST_DATABASE_MISSING */
  readonly database?: TestDatabase;
  /** When the test's time begins. @default noon of 1 January 2030, UTC */
  readonly startAt?: Date;
  /** Where chance begins. @default 1 */
  readonly seed?: number;
  /** Real time: how long time is frozen for a step that works on something real. @default 1 s */
  readonly patience?: Duration;
  /** Real time: how long one call may take in addition before it fails with TEST_STUCK. @default 3 s */
  readonly giveUp?: Duration;
}

export interface BedHooks extends Pick<LifeHooks, "perform"> {
  readonly answer?: () => Promise<boolean>;
  readonly isUp?: () => boolean;
}

export interface ProcessOptions {
  readonly id: string;
  /** Asked for each process: what programs and services keep in memory ends with it. */
  readonly programs: (life: Life) => NodeOptions["programs"];
  /** What programs find in `ctx.services` in this life of the process. @default those of the options */
  readonly services?: (life: Life) => Services;
  readonly passage?: Passage;
}

export interface Process {
  readonly life: Life;
  readonly node: Node;
}

/** Together less than the five seconds after which a runner ends a test, so that the message of a test that is stuck arrives. */
export const PATIENCE = "1s";
export const GIVE_UP = "3s";
/** The body of a task may wait for its own steps, which take virtual time. */
const TASK_PATIENCE_MS = 50;
/** A shorter timer of the client belongs to a loop that looks again. */
const LONG_TIMER_MS = 5_000;

export class TestBed {
  readonly clock: VirtualWorld;
  readonly store: Store;
  readonly tables: Tables;
  readonly codecs: Codecs;
  readonly driver: Driver;
  readonly parked = new ParkedCalls();
  /** Starts and signals runs, and works on none. */
  readonly client: Node;
  /** The world of the client. */
  readonly outside: Life;
  readonly #options: Omit<NodeOptions, "store">;
  readonly #hooks: BedHooks;
  readonly #sql: ReturnType<typeof sqlOf>;

  constructor(options: BedOptions, hooks: BedHooks = {}) {
    const { database, startAt, seed, patience = PATIENCE, giveUp = GIVE_UP, ...rest } = options;
    this.#options = rest;
    this.#hooks = hooks;
    this.clock = new VirtualWorld({
      ...(startAt && { startAt: startAt.getTime() }),
      ...(seed !== undefined && { seed }),
    });
    this.store = memoryStore({ world: this.clock });
    this.tables = tablesOf(this.store);
    this.codecs = openCodecs(rest.codecs);
    const outside = new ClientLife(this.clock);
    this.outside = outside;
    const { settings } = resolveSettings(options, { ...OPTION_NAMES, ...BED_NAMES });
    const { housekeepingMs, pollMaxMs, leaseMs } = settings;
    this.driver = new Driver({
      clock: this.clock,
      tables: this.tables,
      roundMs: 1.25 * Math.max(housekeepingMs, pollMaxMs, 1_000) + 100,
      stallMs: 4 * leaseMs + 60_000,
      patienceMs: toMs(patience, "patience"),
      giveUpMs: toMs(giveUp, "giveUp"),
      moments: () => outside.moments.keys(),
      answer: async () => (await hooks.answer?.()) ?? false,
      explain: () => explainRuns(this.tables, this.parked, hooks.isUp?.() ?? true),
    });
    this.#sql = sqlOf(database, (work) => this.driver.working(work));
    const { env, stack, codecs } = rest;
    const place = {
      ...(env !== undefined && { env }),
      ...(stack !== undefined && { stack }),
      ...(codecs && { codecs }),
    };
    this.client = new Node({ store: this.store, programs: [], identity: { id: "test" }, ...place }, outside);
  }

  /** Starts a process under that id. */
  async open(given: ProcessOptions): Promise<Process> {
    const life = new Life(this.clock, {
      perform: (of, call, work) => this.#perform(of, call, work),
      parks: (runId, calls) => this.parked.note(runId, calls),
    });
    const { passage, programs, id } = given;
    const services = given.services?.(life) ?? this.#options.services;
    const store = lifeStore({ store: this.store, life, sql: this.#sql, ...(passage && { passage }) });
    const served = (run: RunOfServices) =>
      typeof services === "function" ? this.driver.working(Promise.resolve(services(run))) : (services ?? {});
    const identity = { ...this.#options.identity, id };
    // No test looks at figures, and each round would be one more moment to skip to.
    const flow = { statistics: false, ...this.#options.flow };
    const own = { programs: programs(life), store, identity, services: served, flow };
    const node = new Node({ ...this.#options, ...own }, life);
    await this.driver.drive(node.open());
    return { life, node };
  }

  /** Time is frozen for what the call does outside, as long as its process lives. */
  #perform<T>(life: Life, call: UserCall, work: () => T): T {
    const { perform = (_life, _call, own) => own() } = this.#hooks;
    const result = perform(life, call, work);
    if (!(result instanceof Promise)) return result;
    let forget = () => {};
    const killed = new Promise<null>((resolve) => {
      forget = life.onKilled(() => resolve(null));
    });
    result.then(forget, forget);
    const ends = call.kind === "task" ? [result, sleep(systemWorld(), TASK_PATIENCE_MS)] : [result, killed];
    this.driver.working(Promise.race(ends)).catch(() => {});
    return result;
  }
}

const BED_NAMES = { database: true, startAt: true, seed: true, patience: true, giveUp: true } as const;

/** The world of the test's own calls: knows when one of them times out. */
class ClientLife extends Life {
  readonly moments = new Map<number, number>();

  override after(ms: number, callback: () => void): () => void {
    if (ms < LONG_TIMER_MS || !Number.isFinite(ms)) return super.after(ms, callback);
    const at = this.monotonicNow() + ms;
    this.moments.set(at, (this.moments.get(at) ?? 0) + 1);
    const forget = () => {
      const left = (this.moments.get(at) ?? 1) - 1;
      if (left > 0) this.moments.set(at, left);
      else this.moments.delete(at);
    };
    const cancel = super.after(ms, () => {
      forget();
      callback();
    });
    return () => {
      forget();
      cancel();
    };
  }
}
