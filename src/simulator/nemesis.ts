// The nemesis: breaks processes, links, the database and its clock at random moments, until everything heals.

import { Chance } from "./chance.js";
import type { History } from "./check/history.js";
import type { Cluster } from "./cluster.js";
import type { Database } from "./database.js";
import { REFUSALS } from "./link.js";
import type { Scheduler } from "./scheduler.js";
import { FAULTS, type Fault, type Swarm } from "./swarm.js";
import type { Tally } from "./tally.js";
import type { Trace } from "./trace.js";

/** Owner of the nemesis's events. */
const NEMESIS = 1;

export interface NemesisOptions {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly swarm: Swarm;
  readonly cluster: Cluster;
  readonly database: Database;
  readonly history: History;
  readonly trace: Trace;
  readonly tally: Tally;
}

export class Nemesis {
  readonly #options: NemesisOptions;
  #healed = false;
  #lagging = false;

  constructor(options: NemesisOptions) {
    this.#options = options;
    for (const kind of FAULTS) this.#plan(kind);
    const { refuseEveryMs, seed } = options.swarm;
    // With draws of its own: the others stay what they were.
    if (refuseEveryMs !== null) this.#planRefusals(refuseEveryMs, new Chance(seed).split("refused"));
  }

  /** From here on nothing fails any more. */
  heal(): void {
    this.#healed = true;
    const { cluster, database, swarm, trace, scheduler } = this.#options;
    trace.add(scheduler.now, "heal");
    database.start();
    cluster.heal();
    Object.assign(swarm.weather, { loss: 0, late: 0, lateSeals: 0, busy: 0 });
  }

  #plan(kind: Fault): void {
    const { swarm, chance } = this.#options;
    const meanMs = swarm.faults[kind];
    if (meanMs === undefined) return;
    this.#after(-Math.log(1 - chance.random()) * meanMs, () => {
      this.#strike(kind);
      this.#plan(kind);
    });
  }

  /** The server refuses one node for a while, whatever it asks. */
  #planRefusals(meanMs: number, chance: Chance): void {
    const { cluster, swarm, trace, tally, scheduler } = this.#options;
    this.#after(-Math.log(1 - chance.random()) * meanMs, () => {
      const { name, cable } = cluster.nodes[chance.int(0, cluster.nodes.length - 1)]!;
      cable.refused = chance.one(REFUSALS);
      trace.add(scheduler.now, `refuse ${name} ${cable.refused}`);
      tally.add(`refused ${cable.refused}`);
      this.#after(swarm.leaseMs * chance.between(0.1, 3), () => {
        cable.refused = null;
      });
      this.#planRefusals(meanMs, chance);
    });
  }

  #strike(kind: Fault): void {
    const { cluster, chance, swarm, trace, tally, scheduler } = this.#options;
    const node = cluster.nodes[chance.int(0, cluster.nodes.length - 1)]!;
    const forMs = swarm.leaseMs * chance.between(0.1, 2.5);
    trace.add(scheduler.now, `${kind} ${node.name} ${forMs.toFixed(3)}`);
    tally.add(`fault ${kind}`);
    if (kind === "kill") node.kill(forMs / 4);
    else if (kind === "pause") node.pause(forMs);
    else if (kind === "stop") node.stop(forMs / 4);
    else if (kind === "cut") {
      node.cable.cut = true;
      // One that resets is noticed on both ends at once, one that swallows everything on none.
      if (chance.happens(0.5)) node.cable.presence?.drop();
      this.#after(forMs, () => {
        node.cable.cut = false;
      });
    } else if (kind === "absent") {
      node.cable.absent = true;
      node.cable.presence?.drop();
      this.#after(forMs, () => {
        node.cable.absent = false;
      });
    } else this.#strikeDatabase(kind, forMs);
  }

  #strikeDatabase(kind: "restart" | "failover" | "jump", forMs: number): void {
    const { cluster, database, history, chance, trace, scheduler } = this.#options;
    if (kind === "restart") {
      database.stop();
      cluster.dropAll();
      this.#after(forMs / 2, () => database.start());
    } else if (kind === "jump") {
      database.jumpClock(chance.one([-1, 1]) * forMs);
      history.clockJumped();
    } else if (!this.#lagging) {
      // One at a time: a second replica would bring back a past that the first has undone.
      this.#lagging = true;
      const [rollBack, forget] = [database.lag(), history.lag()];
      this.#after(forMs / 4, () => {
        trace.add(scheduler.now, "failover");
        this.#lagging = false;
        rollBack();
        forget();
        cluster.dropAll();
      });
    }
  }

  #after(ms: number, run: () => void): void {
    this.#options.scheduler.after(ms, NEMESIS, () => {
      if (!this.#healed) run();
    });
  }
}
