// The simulated nodes: the real engine, one incarnation after the other, started again whenever it is gone.

import type { Claim } from "../kernel/run/claim.js";
import type { SettingOptions } from "../kernel/setting/setting-options.js";
import { Node } from "../node/create-node.js";
import type { Store } from "../store/contract/store.js";
import type { Bends } from "./buggify.js";
import type { Chance } from "./chance.js";
import type { Database } from "./database.js";
import { Incarnation } from "./incarnation.js";
import { type Cable, Link, newCable } from "./link.js";
import { remoteStore } from "./remote-store.js";
import type { Scheduler } from "./scheduler.js";
import type { Swarm } from "./swarm.js";
import type { Place, Workload } from "./workload/workload.js";

export interface ClusterOptions {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly swarm: Swarm;
  readonly database: Database;
  readonly workload: Workload;
  /** Points of the code that are bent; null: none. */
  readonly bends: Bends | null;
  /** Where the steps of that incarnation work. */
  readonly placeOf: (world: Incarnation, kill: () => void, node: () => Node) => Place;
  /** A node learned that a claim is granted, or lost. */
  readonly onTold: (by: string, what: "granted" | "lost", claim: Claim) => void;
  readonly onDown: () => void;
  /** A node is up again. */
  readonly onReady: () => void;
  /** The engine itself broke. */
  readonly onBroken: (runId: string, error: unknown) => void;
  /** Work is held because of the store. */
  readonly onHeld: (code: string) => void;
}

/** A node of another env: whatever its settings, it takes nothing from the cluster. */
const FOREIGN = "foreign";
/** The node of an env whose programs, keys and events are those of the cluster; nothing is done to it. */
export const SISTER = "sister";

function impatient({ leaseMs }: Swarm): SettingOptions & { readonly env: string } {
  const often = Math.max(10, Math.ceil(leaseMs / 40));
  return {
    env: "foreign",
    timing: { presenceGrace: 0, lease: often, renewEvery: Math.ceil(often / 3), housekeeping: often },
  };
}

export class SimNode {
  readonly name: string;
  readonly cable: Cable = newCable();
  readonly #owner: number;
  readonly #stack: string | null;
  readonly #options: ClusterOptions;
  #lives = 0;
  #world: Incarnation | null = null;
  /** null until it has started. */
  #node: Node | null = null;

  /** `name`: of a node that is no part of the cluster. */
  constructor(index: number, options: ClusterOptions, name = `n${index}`) {
    this.name = name;
    this.#owner = index + 10;
    this.#stack = options.workload.stackOf?.("node", index) ?? null;
    this.#options = options;
    this.#boot();
  }

  kill(downMs: number): void {
    const world = this.#world;
    if (!world?.alive) return;
    world.kill();
    // Its connections end with it.
    this.cable.presence?.drop();
    this.#options.onDown();
    this.#node = null;
    this.#options.scheduler.after(downMs, this.#owner, () => this.#boot());
  }

  pause(ms: number): void {
    const { scheduler } = this.#options;
    if (this.#world) this.#world.pausedUntil = Math.max(this.#world.pausedUntil, scheduler.now + ms);
  }

  /** An orderly stop, and a new start when it is done. */
  stop(downMs: number): void {
    const world = this.#world;
    const again = () => {
      if (world === this.#world) this.kill(downMs);
    };
    this.#node?.stop().then(again, again);
    this.#node = null;
  }

  get ready(): boolean {
    return this.#node !== null;
  }

  /** For good. Resolves when the engine has stopped in order. */
  async stopForGood(): Promise<void> {
    await this.#node?.stop();
  }

  #boot(): void {
    const { scheduler, chance, swarm, database, workload, bends, placeOf, onTold, onBroken, onHeld } = this.#options;
    const name = `${this.name}.${++this.#lives}`;
    const own = chance.split(name);
    const clock = { offsetMs: own.between(-600_000, 600_000), drift: own.between(-0.1, 0.1) };
    const world = new Incarnation(this.#owner, name, { scheduler, chance: own, clock });
    if (bends) world.buggify = bends.of(own.split("bends"));
    const link = new Link({
      world,
      database,
      scheduler,
      weather: swarm.weather,
      cable: this.cable,
      chance: own.split("link"),
    });
    const store = listening(remoteStore(link), (what, claim) => onTold(name, what, claim));
    const place = placeOf(
      world,
      () => this.kill(swarm.leaseMs / 4),
      () => node,
    );
    const node: Node = new Node(
      this.name === FOREIGN
        ? { store, programs: [], identity: { id: this.name }, flow: { statistics: false }, ...impatient(swarm) }
        : {
            ...swarm.settings,
            store,
            programs: workload.programs(place, this.name),
            identity: { id: this.name },
            flow: { ...swarm.settings.flow, statistics: false },
            ...(this.name === SISTER && { env: SISTER }),
            ...(this.#stack !== null && { stack: this.#stack }),
          },
      world,
    );
    node.on("run.broken", ({ runId, error }) => onBroken(runId, error));
    node.on("store.trouble", ({ code }) => onHeld(code));
    this.#world = world;
    workload.beside?.(store, world);
    node.open().then(
      () => {
        this.#node = node;
        this.#options.onReady();
      },
      // A process that cannot start exits, and is started again.
      () => this.kill(swarm.leaseMs / 4),
    );
  }
}

export class Cluster {
  readonly nodes: readonly SimNode[];
  readonly #others: readonly SimNode[];

  constructor(options: ClusterOptions) {
    const { swarm } = options;
    this.nodes = Array.from({ length: swarm.nodes }, (_, i) => new SimNode(i, options));
    const others = [...(swarm.foreign ? [FOREIGN] : []), ...(swarm.sister ? [SISTER] : [])];
    this.#others = others.map((name, i) => new SimNode(swarm.nodes + i, options, name));
  }

  get ready(): boolean {
    return this.nodes.every((node) => node.ready);
  }

  /** The database has lost every session. */
  dropAll(): void {
    for (const { cable } of this.nodes) cable.presence?.drop();
    for (const { cable } of this.#others) cable.presence?.drop();
  }

  heal(): void {
    for (const { cable } of this.nodes) Object.assign(cable, { cut: false, refused: null, absent: false });
  }
}

/** Notes when an answer about a claim reaches its holder. */
function listening(store: Store, told: (what: "granted" | "lost", claim: Claim) => void): Store {
  return {
    ...store,
    runs: {
      ...store.runs,
      claim: async (request) => {
        const granted = await store.runs.claim(request);
        for (const run of granted) told("granted", run);
        return granted;
      },
      renew: async (claims, leaseMs) => {
        const answers = await store.runs.renew(claims, leaseMs);
        for (const [i, { outcome }] of answers.entries()) if (outcome === "lost") told("lost", claims[i]!);
        return answers;
      },
      commit: async (commits) => {
        const answers = await store.runs.commit(commits);
        for (const [i, { outcome }] of answers.entries()) if (outcome === "lost") told("lost", commits[i]!.claim);
        return answers;
      },
      transact: async (work) => {
        let sealed: Claim | null = null;
        const answer = await store.runs.transact(async (tx) => {
          const commit = await work(tx);
          sealed = commit.claim;
          return commit;
        });
        if (answer.outcome === "lost") told("lost", sealed!);
        return answer;
      },
    },
  };
}
