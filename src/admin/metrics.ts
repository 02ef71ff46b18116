// `/metrics`: figures of the store, read at most every ten seconds, and how this server answers.

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { PACKAGE_VERSION } from "../kernel/package-version.js";
import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { MetricsRegistry } from "./metrics-registry.js";
import { type MeasuredNode, measureNodes } from "./node-metrics.js";

/** Every scrape within this time gets the same figures: scrapers do not multiply statements. */
const FRESH_MS = 10_000;
const MOST_DEAD = 10_000;
const MOST_QUEUES = 200;
const STORE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const DEAD_STATES = ["failed", "dead", "quarantined"] as const;

export class Metrics {
  readonly registry: Registry;
  readonly #store: Store;
  readonly #world: World;
  readonly #envs: readonly string[];
  readonly #requests: Counter<"route" | "status">;
  readonly #seconds: Histogram<"route">;
  readonly #nodes: Gauge<"env" | "state">;
  readonly #slots: Gauge<"env">;
  readonly #busy: Gauge<"env">;
  readonly #queueRuns: Gauge<"env" | "queue" | "state">;
  readonly #oldest: Gauge<"env" | "queue">;
  readonly #dead: Gauge<"env" | "state">;
  readonly #approvals: Gauge<"env">;
  readonly #streams: Gauge;
  readonly #figuresAge: Gauge<"env">;
  readonly #timersDead: Gauge<"env">;
  readonly #unserved: Gauge<"env" | "queue">;
  readonly #oldestApproval: Gauge<"env">;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(options: {
    readonly store: Store;
    readonly world: World;
    readonly envs: readonly string[];
    readonly registry?: MetricsRegistry;
    readonly nodes?: readonly MeasuredNode[];
  }) {
    this.#store = options.store;
    this.#world = options.world;
    this.#envs = options.envs;
    this.registry = (options.registry as Registry | undefined) ?? new Registry();
    const registers = [this.registry];
    measureNodes(options.nodes ?? [], this.registry);
    const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Gauge<Label>({ name, help, labelNames, registers });
    this.#requests = new Counter({
      name: "holdfast_admin_requests_total",
      help: "Requests to the admin API.",
      labelNames: ["route", "status"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "holdfast_admin_request_seconds",
      help: "Time to answer a request to the admin API.",
      labelNames: ["route"],
      buckets: STORE_BUCKETS,
      registers,
    });
    this.#nodes = gauge("holdfast_nodes", "Registered nodes.", ["env", "state"]);
    this.#slots = gauge("holdfast_slots", "Slots of live nodes.", ["env"]);
    this.#busy = gauge("holdfast_slots_busy", "Runs that nodes hold.", ["env"]);
    this.#queueRuns = gauge("holdfast_queue_runs", "Runs that have not ended.", ["env", "queue", "state"]);
    this.#oldest = gauge("holdfast_queue_oldest_waiting_seconds", "Age of the oldest claimable run.", ["env", "queue"]);
    this.#dead = gauge("holdfast_dead_letters", "Dead letters, up to 10,000.", ["env", "state"]);
    this.#approvals = gauge("holdfast_approvals_open", "Open approvals, up to 1,000.", ["env"]);
    this.#streams = gauge("holdfast_admin_streams", "Open live streams.");
    this.#figuresAge = gauge("holdfast_figures_age_seconds", "Time since figures were last counted.", ["env"]);
    this.#timersDead = gauge("holdfast_timers_dead", "Timers that were given up, up to 1,000.", ["env"]);
    this.#unserved = gauge("holdfast_runs_without_node", "Waiting runs of queues that no live node claims.", [
      "env",
      "queue",
    ]);
    this.#oldestApproval = gauge("holdfast_approvals_oldest_seconds", "Age of the oldest open approval.", ["env"]);
    gauge("holdfast_build_info", "The version of this package.", ["version"]).set({ version: PACKAGE_VERSION }, 1);
  }

  answered(route: string, status: number, ms: number): void {
    this.#requests.inc({ route, status: String(status) });
    this.#seconds.observe({ route }, ms / 1000);
  }

  async text(streams: number): Promise<string> {
    this.#streams.set(streams);
    if (this.#world.monotonicNow() - this.#readAt > FRESH_MS) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null;
      });
      await this.#reading;
    }
    return this.registry.metrics();
  }

  async #read(): Promise<void> {
    for (const gauge of [this.#queueRuns, this.#oldest, this.#unserved]) gauge.reset();
    for (const env of this.#envs) await this.#readEnv(env);
    this.#readAt = this.#world.monotonicNow();
  }

  async #readEnv(env: string): Promise<void> {
    const { nodes, queues, views, statistics } = this.#store;
    const { now } = await views.runs([]);
    const [registered, listed, questions, timers, figures, ...dead] = await Promise.all([
      nodes.list({ env }),
      queues.list(env),
      views.questions({ env, limit: 1_000 }),
      views.timers({ env, state: "dead", limit: 1_000 }),
      statistics.figures({ env, from: now, to: now, stepMs: 10_000 }),
      ...DEAD_STATES.map((state) => views.count({ env, states: [state] }, MOST_DEAD)),
    ]);
    const alive = registered.filter((node) => node.alive);
    this.#nodes.set({ env, state: "alive" }, alive.length);
    this.#nodes.set({ env, state: "silent" }, registered.length - alive.length);
    const slots = alive.flatMap(({ executors }) => executors).reduce((sum, one) => sum + one.slots, 0);
    this.#slots.set({ env }, slots);
    this.#busy.set(
      { env },
      registered.reduce((sum, { holds }) => sum + holds, 0),
    );
    this.#approvals.set({ env }, questions.rows.length);
    const asked = questions.rows.map(({ entry }) => now - entry.at);
    this.#oldestApproval.set({ env }, Math.max(0, ...asked) / 1000);
    this.#timersDead.set({ env }, timers.rows.length);
    if (figures.at !== null) this.#figuresAge.set({ env }, Math.max(now - figures.at, 0) / 1000);
    for (const [i, state] of DEAD_STATES.entries()) this.#dead.set({ env, state }, dead[i]!.n);
    for (const [i, { queue, counts, oldestWaitingMs }] of listed.entries()) {
      const name = i < MOST_QUEUES ? queue : "other";
      for (const [state, n] of Object.entries(counts)) this.#queueRuns.inc({ env, queue: name, state }, n);
      const isServed = alive.some(({ claims }) => claims.some((group) => group.queue === queue));
      this.#unserved.inc({ env, queue: name }, isServed ? 0 : (counts.waiting ?? 0));
      if (i < MOST_QUEUES) this.#oldest.set({ env, queue: name }, (oldestWaitingMs ?? 0) / 1000);
    }
  }
}
