// The demonstration on the sample app: six orders, a node killed in mid-step, another frozen past its lease, and what came of it.

import type { Client } from "../../client/create-client.js";
import type { RunHandle } from "../../client/run-handle.js";
import { sleep, type World } from "../../kernel/world.js";
import type { Store } from "../../store/contract/store.js";
import type { Cluster, ClusterEvent } from "../cluster.js";
import { DemonstrationFailed } from "../error.js";
import { order } from "./programs.js";

export interface StoryOptions {
  readonly world: World;
  readonly store: Store;
  readonly client: Client<readonly []>;
  readonly cluster: Cluster;
  /** The waiting for a node that is frozen. */
  readonly freezeMs: number;
  readonly onLine: (text: string, tone?: "harm" | "good") => void;
}

export interface StoryFigures {
  readonly runs: number;
  readonly steps: number;
  readonly takeoverMs: number;
  readonly doubledSteps: number;
  readonly lostRuns: number;
  readonly refusedWrites: number;
}

const RUNS = 6;
const STEPS = ["charge", "pack", "ship"];
const LONGEST_MS = 60_000;

export class Story {
  readonly #options: StoryOptions;
  readonly #runs: RunHandle<{ shipped: boolean }>[] = [];
  readonly #labels = new Map<string, string>();
  readonly #asked = new Set<string>();
  readonly #refused = new Set<string>();
  #killed: { readonly node: string; readonly runId: string; readonly at: number } | null = null;
  #frozen: string | null = null;
  #takeoverMs = 0;

  constructor(options: StoryOptions) {
    this.#options = options;
  }

  /** Places the orders and waits until all is done. Rejects when something was lost, done twice, or not shown. */
  async play(): Promise<StoryFigures> {
    const { client, world, onLine, freezeMs } = this.#options;
    onLine(`${RUNS} orders are placed; each is charged, packed, approved by the warehouse and shipped`);
    for (let i = 1; i <= RUNS; i++) {
      const run = await client.start(order, { id: `o-${i}`, cents: 100 * i }, { key: `order:o-${i}` });
      this.#labels.set(run.id, `order o-${i}`);
      this.#runs.push(run);
    }
    await Promise.all(this.#runs.map((run) => run.result({ timeout: LONGEST_MS })));
    const until = world.monotonicNow() + 2 * freezeMs;
    while (this.#refused.size === 0 && world.monotonicNow() < until) await sleep(world, 50);
    return this.#judge();
  }

  heard(event: ClusterEvent): void {
    if (event.is === "woke") this.#options.onLine(`${event.node} wakes and does not know that time has passed`, "harm");
    if (event.is !== "report") return;
    const { node, report } = event;
    if (report.is === "claimed") this.#claimed(node, report.runId, report.epoch);
    if (report.is === "step" && report.as === "begun") this.#begun(node, report.runId, report.step);
    if (report.is === "reclaimed") {
      const why = report.expiredForMs > 0 ? "its lease has expired" : "the process that held it is gone";
      this.#say(node, report.runId, `is free again: ${why}`);
    }
    if (report.is === "lost" && this.#labels.has(report.runId)) {
      this.#refused.add(report.runId);
      this.#say(node, report.runId, `tries to write under claim ${report.epoch}: REFUSED, another node holds it now`);
    }
    if (report.is === "settled" && report.as === "parked") this.#parked(node, report.runId);
  }

  #say(node: string, runId: string, what: string): void {
    const label = this.#labels.get(runId);
    if (label) this.#options.onLine(`${node}  ${label}  ${what}`);
  }

  #claimed(node: string, runId: string, epoch: number): void {
    if (this.#killed?.runId !== runId || this.#takeoverMs > 0) return;
    const { world, onLine } = this.#options;
    this.#takeoverMs = Math.round(world.monotonicNow() - this.#killed.at);
    const label = this.#labels.get(runId);
    onLine(`${node} takes ${label} over (claim ${epoch}), ${this.#takeoverMs} ms after the kill`, "good");
    onLine("what is recorded is not done again; the step that was cut short is");
  }

  #begun(node: string, runId: string, step: string): void {
    this.#say(node, runId, step);
    const label = this.#labels.get(runId);
    if (label === undefined || step !== "pack") return;
    const { cluster, onLine, world, freezeMs } = this.#options;
    const incarnation = cluster.state().nodes.find(({ name }) => name === node)?.incarnation ?? "";
    if (!this.#killed) {
      this.#killed = { node, runId, at: world.monotonicNow() };
      cluster.kill(incarnation);
      onLine(`kill -9 ${node}, in the middle of ${label}`, "harm");
    } else if (!this.#frozen && node !== this.#killed.node && this.#killed.runId !== runId) {
      this.#frozen = node;
      cluster.freeze(incarnation);
      onLine(`${node} freezes for ${freezeMs / 1000} s in the middle of ${label}, longer than its lease`, "harm");
    }
  }

  /** The first time a run parks, it asks the warehouse. It takes no slot meanwhile. */
  #parked(node: string, runId: string): void {
    const run = this.#runs.find(({ id }) => id === runId);
    if (!run || this.#asked.has(runId)) return;
    this.#asked.add(runId);
    this.#say(node, runId, "waits for the warehouse, which approves");
    run.decide("ship", { choice: "approved", by: "warehouse" }).catch((error) => this.#options.onLine(String(error)));
  }

  async #judge(): Promise<StoryFigures> {
    const { store, onLine } = this.#options;
    const journals = await Promise.all(this.#runs.map(({ id }) => store.journal.read(id)));
    const steps = journals.flatMap((journal) => journal?.entries.filter(({ kind }) => kind === "step") ?? []).length;
    const results = await Promise.all(this.#runs.map((run) => run.result({ timeout: "1s" })));
    const lostRuns = RUNS - results.filter(({ shipped }) => shipped).length;
    const doubledSteps = steps - RUNS * STEPS.length;
    const [takeoverMs, refusedWrites] = [this.#takeoverMs, this.#refused.size];
    const text =
      `${RUNS - lostRuns} of ${RUNS} orders shipped; ${steps} steps recorded, ${doubledSteps} of them twice; ` +
      `takeover in ${takeoverMs} ms; late writes refused: ${refusedWrites}`;
    onLine(text, "good");
    if (doubledSteps === 0 && lostRuns === 0 && refusedWrites > 0 && takeoverMs > 0) {
      return { runs: RUNS, steps, takeoverMs, doubledSteps, lostRuns, refusedWrites };
    }
    throw new DemonstrationFailed(text);
  }
}
