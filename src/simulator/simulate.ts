// One simulation: a seed in, a verdict out. Faults first; then everything heals and all work must end.

import { isEnded } from "../kernel/run/run-state.js";
import { resolveSettings } from "../kernel/setting/settings.js";
import type { World } from "../kernel/world.js";
import { Node } from "../node/create-node.js";
import type { Store } from "../store/contract/store.js";
import { memoryStore } from "../store/memory/memory-store.js";
import { describeApplied } from "./applied.js";
import { Bends } from "./buggify.js";
import { Chance } from "./chance.js";
import { checkApplied, isChecked } from "./check/applied.js";
import { Calm } from "./check/calm.js";
import { checkAttempt, checkFinished, checkResults } from "./check/effects.js";
import { History, type Violation } from "./check/history.js";
import type { ModelRun } from "./check/model.js";
import { mustWake } from "./check/model.js";
import { checkTables } from "./check/tables.js";
import { checkTrouble } from "./check/trouble.js";
import { Client } from "./client.js";
import { Cluster, SISTER } from "./cluster.js";
import { Database } from "./database.js";
import { EffectLog } from "./effect-log.js";
import { Incarnation } from "./incarnation.js";
import { Link, newCable } from "./link.js";
import { Nemesis } from "./nemesis.js";
import { placeIn } from "./place.js";
import { remoteStore } from "./remote-store.js";
import { Scheduler } from "./scheduler.js";
import { drawSwarm, type Swarm } from "./swarm.js";
import { Tally } from "./tally.js";
import { Trace } from "./trace.js";
import { ScriptWorkload } from "./workload/script-workload.js";
import type { DriveOptions, Workload } from "./workload/workload.js";

export interface SimulateOptions {
  /** Default: random scripts. */
  readonly workload?: (swarm: Swarm) => Workload;
  /** Another cluster or other weather than the seed draws. */
  readonly adjust?: (drawn: Swarm) => Swarm;
  /** On the memory store's tables, which fail over and are compared with. Default: the memory store itself. */
  readonly openStore?: (world: World) => Store;
  /** Keeps the lines of the trace, to read them. */
  readonly keepTrace?: boolean;
}

export interface Verdict {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** The same for the same seed and code, in every process. */
  readonly hash: string;
  readonly virtualMs: number;
  readonly events: number;
  /** How often what happened: what this seed has shown. */
  readonly tally: Readonly<Record<string, number>>;
  readonly trace: readonly string[];
}

const CLIENT = 2;
const CLIENTS = ["client", "client-2", "client-3"];
/** Codes with which a round of work may end besides a lost claim: the lease brings the run back. */
const EXPECTED_BREAKS: readonly unknown[] = ["JOURNAL_MOVED"];

export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Verdict> {
  const swarm = drawSwarm(seed);
  return new Simulation(options.adjust?.(swarm) ?? swarm, options).run();
}

class Simulation {
  readonly #swarm: Swarm;
  readonly #workload: Workload;
  readonly #scheduler: Scheduler;
  readonly #trace: Trace;
  readonly #tally = new Tally();
  readonly #database: Database;
  readonly #history: History;
  readonly #effects: EffectLog;
  readonly #bends: Bends | null;
  readonly #cluster: Cluster;
  readonly #nemesis: Nemesis;
  readonly #drive: DriveOptions;

  constructor(swarm: Swarm, { workload, openStore, keepTrace = false }: SimulateOptions) {
    const chance = new Chance(swarm.seed);
    const scheduler = new Scheduler(swarm.seed);
    this.#swarm = swarm;
    this.#workload = workload?.(swarm) ?? new ScriptWorkload(swarm);
    this.#scheduler = scheduler;
    this.#trace = new Trace(keepTrace);
    this.#database = this.#openDatabase(chance.split("database"), openStore);
    this.#history = new History(this.#database.tables, () => scheduler.now, resolveSettings(swarm.settings).settings);
    this.#effects = this.#openEffects();
    const bent = (site: string) => this.#tally.add(`bent ${site}`);
    this.#bends = swarm.buggify ? new Bends(chance.split("bends"), bent) : null;
    this.#cluster = this.#openCluster(chance.split("cluster"));
    this.#nemesis = new Nemesis({
      scheduler,
      swarm,
      chance: chance.split("nemesis"),
      cluster: this.#cluster,
      database: this.#database,
      history: this.#history,
      trace: this.#trace,
      tally: this.#tally,
    });
    const [first, ...others] = CLIENTS.map((name, i) => this.#openClient(name, i, chance.split(name)));
    this.#drive = {
      client: first!,
      sister: swarm.sister ? this.#openClient(SISTER, 0, chance.split(SISTER)) : null,
      nodes: this.#cluster.nodes.map(({ name }) => name),
      clients: [first!, ...others],
      chance: chance.split("drive"),
      swarm,
      at: (ms, run) => void scheduler.after(ms, CLIENT, run),
      runIds: () => {
        const runs = [...this.#history.runs.values()];
        return runs.filter((run) => !this.#workload.isLeftAlone?.(run)).map(({ id }) => id);
      },
    };
  }

  async run(): Promise<Verdict> {
    const { faultsForMs } = this.#swarm;
    this.#workload.drive(this.#drive);
    await this.#scheduler.run(faultsForMs);
    this.#nemesis.heal();
    this.#bends?.heal();
    this.#history.calm = this.#calmBounds();
    this.#calmDown();
    await this.#finish();
    await this.#stop();
    checkTables(this.#history);
    checkResults(this.#history, this.#effects, (run) => this.#workload.makesAttempts?.(run) ?? true);
    checkTrouble(this.#history);
    const { clients, sister } = this.#drive;
    for (const client of sister ? [...clients, sister] : clients) client.check(this.#history);
    await this.#workload.check(this.#history, this.#effects);
    const { now: virtualMs, events } = this.#scheduler;
    const { hash, lines: trace } = this.#trace;
    const { violations } = this.#history;
    this.#tallyEnds();
    this.#tally.add("looks at bounds", this.#history.calm?.looks);
    this.#tally.add("stops answered", this.#history.promises.count);
    return { seed: this.#swarm.seed, violations, hash, virtualMs, events, tally: this.#tally.counts, trace };
  }

  #tallyEnds(): void {
    const { sister, weather } = this.#swarm;
    for (const { state, program } of this.#history.everyRun) {
      this.#tally.add(`run ${state}`);
      this.#tally.add(`${program} ${state}`);
    }
    if (sister) this.#tally.add("env sister");
    if (weather.deaf) this.#tally.add("deaf");
    if (this.#workload.stackOf?.("node", 0)) this.#tally.add("stacks");
  }

  /** With all nodes up it takes a while: what was sent before comes in late, and a node that was paused wakes up. */
  #calmDown(): void {
    const { calm } = this.#history;
    if (calm && this.#cluster.ready) calm.since = this.#scheduler.now + 7 * this.#swarm.leaseMs;
  }

  #calmBounds(): Calm {
    const { settings, weather } = this.#swarm;
    const { pollMaxMs, housekeepingMs, concurrency } = resolveSettings(settings).settings;
    const tripMs = 3 * weather.latencyMs + 1;
    const bounds = { claimMs: 1.25 * pollMaxMs + 4 * tripMs, sweepMs: 1.2 * housekeepingMs + 3 * tripMs };
    return new Calm({ ...bounds, slots: concurrency });
  }

  /** L3: everything ends, or waits for messages that are never sent, within a bound of virtual time. */
  async #finish(): Promise<void> {
    const { leaseMs, urgeEveryMs } = this.#swarm;
    const until = this.#scheduler.now + 400 * leaseMs;
    while (!this.#done() && this.#scheduler.now < until) {
      for (const run of this.#history.runs.values()) {
        if (!isEnded(run.state) && !this.#workload.mayWait(run, this.#history)) this.#workload.urge(this.#drive, run);
      }
      await this.#scheduler.run(Math.min(this.#scheduler.now + urgeEveryMs, until), () => this.#done());
    }
    for (const run of this.#history.runs.values()) {
      this.#history.expect(this.#isDone(run), "L3", run, `still ${run.state} long after everything healed`);
    }
    if (!this.#cluster.ready) this.#history.broken("L8", null, "not every node has come back");
  }

  /** L7: nodes that are asked to stop do so within their grace period. */
  async #stop(): Promise<void> {
    let stopped = 0;
    for (const node of this.#cluster.nodes) {
      node.stopForGood().then(
        () => stopped++,
        () => stopped++,
      );
    }
    const { nodes } = this.#cluster;
    await this.#scheduler.run(this.#scheduler.now + 20 * this.#swarm.leaseMs, () => stopped === nodes.length);
    if (stopped < nodes.length) this.#history.broken("L7", null, `${nodes.length - stopped} nodes do not stop`);
  }

  #done(): boolean {
    if (!this.#cluster.ready) return false;
    for (const run of this.#history.runs.values()) if (!this.#isDone(run)) return false;
    return true;
  }

  #isDone(run: ModelRun): boolean {
    if (isEnded(run.state)) return true;
    return (
      this.#workload.mayWait(run, this.#history) && run.state === "parked" && run.wakeAtUs === null && !mustWake(run)
    );
  }

  readonly #openMemory = (world: World): Store => {
    const { retention } = this.#swarm;
    return memoryStore({ world, ...(retention && { retention }) });
  };

  #openDatabase(chance: Chance, openStore = this.#openMemory): Database {
    const scheduler = this.#scheduler;
    return new Database({
      scheduler,
      chance,
      openStore,
      onApplied: (applied, by) => {
        if (applied.op === "nodes.changeMode") this.#tally.add("mode changed");
        if (!isChecked(applied.op)) return;
        this.#trace.add(scheduler.now, `${by} ${describeApplied(applied)}`);
        this.#tally.applied(applied);
        checkApplied(this.#history, applied, by);
      },
      onPresence: (incarnation, held) => this.#history.presence(incarnation, held),
      onHeard: (incarnation) => this.#history.heard(incarnation),
      onThrown: (op, error) => this.#history.broken("S8", null, `${op} threw ${String(error)}`),
    });
  }

  #openEffects(): EffectLog {
    const scheduler = this.#scheduler;
    return new EffectLog(() => scheduler.now, {
      started: (record) => {
        this.#trace.add(scheduler.now, `${record.by} starts ${record.idempotencyKey.slice(30)} e${record.epoch}`);
        this.#tally.add("attempts");
        checkAttempt(this.#history, record);
      },
      finished: (record, aborted) => checkFinished(this.#history, record, aborted),
    });
  }

  #openCluster(chance: Chance): Cluster {
    return new Cluster({
      scheduler: this.#scheduler,
      chance,
      swarm: this.#swarm,
      database: this.#database,
      workload: this.#workload,
      bends: this.#bends,
      placeOf: (world, kill, node) => placeIn(world, this.#effects, kill, node),
      onTold: (by, what, { runId, epoch, token }) => this.#history.told(`${by} ${runId} ${epoch}`, what, token),
      onDown: () => {
        if (this.#history.calm) this.#history.calm.since = Number.POSITIVE_INFINITY;
      },
      onReady: () => this.#calmDown(),
      onHeld: (code) => this.#tally.add(`held ${code}`),
      onBroken: (runId, error) => {
        const { code } = error as { code?: unknown };
        this.#tally.add(`broken ${String(code)}`);
        if (EXPECTED_BREAKS.includes(code) || this.#history.excused.has(runId)) return;
        this.#history.broken("engine", runId, String(error));
      },
    });
  }

  #openClient(name: string, nth: number, chance: Chance): Client {
    const scheduler = this.#scheduler;
    const world = new Incarnation(CLIENT, name, { scheduler, chance, clock: { offsetMs: 0, drift: 0 } });
    const { weather, settings } = this.#swarm;
    const link = new Link({
      world,
      database: this.#database,
      scheduler,
      weather,
      cable: newCable(),
      chance: chance.split("link"),
    });
    const stack = this.#workload.stackOf?.("client", nth) ?? null;
    const options = { store: remoteStore(link), programs: [], ...(stack !== null && { stack }), ...settings };
    const env = name === SISTER ? { env: SISTER } : {};
    return new Client(new Node({ ...options, ...env }, world), world, this.#history);
  }
}
